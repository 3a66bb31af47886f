#include "libraries/dnn/cuda/convolution.hpp"

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/dnn/cuda/convolution/after_sums.hpp"
#include "libraries/dnn/cuda/convolution/convolution_case.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"
#include "libraries/dnn/cuda/plan/staging.hpp"
#include "libraries/dnn/cuda/planned.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace troupe::cuda {
namespace {

/// A tensor in workspace, as the form's plan describes it.
struct staged_tensor {
  shape extents;
  dtype type{};
  frame_array<std::byte> memory;

  [[nodiscard]] any_tensor with(std::span<const std::int64_t> strides) const {
    return any_tensor::unowned(memory, type, extents, strides);
  }
};

/// Runs one request on its lane.
class convolution_run {
 public:
  convolution_run(const convolution_case& what, lane& where, compiled_plan& plan)
      : what_(what),
        where_(where),
        plan_(plan),
        form_(what.forms().at(static_cast<std::size_t>(plan.alternative()))) {}

  [[nodiscard]] result<void> operator()() {
    const epilogue& follows = what_.follows();
    // True if the plan writes the result directly: the sums are final, or the next pass changes
    // them in place.
    const bool direct = form_.fused || (!form_.staged && what_.sums_type(form_) == result_type() &&
                                        (!follows.adds() || follows.nothing()));
    call_frame c(where_);
    const staged_tensor first = staged(what_.first(), what_.operand_type(form_), c, form_.staged);
    const staged_tensor second = staged(what_.second(), what_.operand_type(form_), c, form_.staged);
    const staged_tensor sums = staged(what_.result(), what_.sums_type(form_), c, !direct);
    c.share(std::max<std::size_t>(plan_.workspace_bytes(), 1));
    TRY(c.begin());

    float alpha = follows.alpha.as<float>();
    float beta = follows.beta.as<float>();
    double wide_alpha = follows.alpha.as<double>();
    double wide_beta = follows.beta.as<double>();
    const bool wide = result_type() == dtype::f64;
    std::array<std::byte*, convolution_case::operand_count> operands{};
    operands[convolution_case::first_at] = what_.first().address();
    operands[convolution_case::second_at] = what_.second().address();
    operands[convolution_case::result_at] = what_.result().address();
    operands[convolution_case::z_at] = follows.z.address();
    operands[convolution_case::bias_at] = follows.bias.address();
    operands[convolution_case::alpha_at] =
        reinterpret_cast<std::byte*>(wide ? static_cast<void*>(&wide_alpha) : &alpha);
    operands[convolution_case::beta_at] =
        reinterpret_cast<std::byte*>(wide ? static_cast<void*>(&wide_beta) : &beta);
    if (form_.staged) {
      TRY(stage(what_.first(), first));
      TRY(stage(what_.second(), second));
      operands[convolution_case::first_at] = first.memory;
      operands[convolution_case::second_at] = second.memory;
    }
    if (!direct) operands[convolution_case::result_at] = sums.memory;

    const auto library = TRY(cudnn_of(where_));
    TRY(plan_.run(library, operands, c.shared(), where_.stream()));
    if (form_.fused || (direct && follows.nothing())) return {};
    if (direct) return enqueue_after(follows, what_.result(), what_.result(), where_);
    const auto made =
        TRY(form_.staged ? interior(what_.result(),
                                    sums.with(what_.staged_strides(sums.extents.extents(), form_)))
                         : result<any_tensor>(sums.with(what_.result().strides())));
    return enqueue_after(follows, made, what_.result(), where_);
  }

 private:
  [[nodiscard]] dtype result_type() const noexcept { return what_.result().type(); }

  staged_tensor staged(const any_tensor& t, dtype type, call_frame& c, bool needed) const {
    staged_tensor made{.extents = what_.extents_of(t, form_), .type = type, .memory = {}};
    if (needed) made.memory = c.bytes(bytes_of(made.extents, type));
    return made;
  }

  [[nodiscard]] bool is_padded(const any_tensor& t) const noexcept {
    return what_.pads(form_) && &t == &what_.geometry().image.view;
  }

  // The part of a staged tensor that is not padding.
  [[nodiscard]] result<any_tensor> interior(const any_tensor& t, any_tensor whole) const {
    if (!is_padded(t)) return whole;
    for (int d = 0; d < what_.geometry().space(); ++d) {
      const std::int64_t before = what_.geometry().padding[static_cast<std::size_t>(d)];
      whole = TRY(whole.slice(d + 2, before, before + t.extent(d + 2)));
    }
    return whole;
  }

  [[nodiscard]] result<void> stage(const any_tensor& t, const staged_tensor& to) {
    const any_tensor whole = to.with(what_.staged_strides(to.extents.extents(), form_));
    if (is_padded(t)) {
      const auto bytes = static_cast<std::size_t>(bytes_of(to.extents, to.type));
      TRY(check(cudaMemsetAsync(whole.address(), 0, bytes, where_.stream()), "cudaMemsetAsync"));
    }
    const auto part = TRY(interior(t, whole));
    return enqueue_copied(t, part, where_);
  }

  const convolution_case& what_;
  lane& where_;
  compiled_plan& plan_;
  convolution_form form_;
};

// Without images, every sum is empty.
result<void> run_empty(const convolution_case& what, lane& where) {
  const any_tensor& to = what.result();
  if (to.empty()) return {};
  if (!what.follows().adds()) {
    // The tensor is dense, in any order of dimensions.
    const auto bytes = static_cast<std::size_t>(to.count() * size_of(to.type()));
    return check(cudaMemsetAsync(to.address(), 0, bytes, where.stream()), "cudaMemsetAsync");
  }
  epilogue scaled{.alpha = what.follows().beta};
  return enqueue_after(scaled, to, to, where);
}

template <class R>
result<void> run_case(const R& r, lane& where) {
  const convolution_case what(r);
  if (what.empty()) return run_empty(what, where);
  const auto plan = TRY(plan_of(what, where));
  return convolution_run(what, where, *plan)();
}

const plugin_operations convolution_operations([](operation_table& table) {
  add_planned<convolution_case, dnn::convolution_forward>(table, run_case);
  add_planned<convolution_case, dnn::convolution_backward_data>(table, run_case);
  add_planned<convolution_case, dnn::convolution_backward_filter>(table, run_case);
  add_planned<convolution_case, dnn::convolution_transposed>(table, run_case);
});

}  // namespace

result<void> run_convolution(const dnn::convolution_forward& r, lane& where) {
  return run_case(r, where);
}

}  // namespace troupe::cuda
