#include "libraries/dnn/cuda/convolution.hpp"

#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/pieces.hpp"
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

/// A tensor in workspace, as the plan of a form has it.
struct staged_tensor {
  shape extents;
  dtype type{};
  std::size_t offset = 0;

  [[nodiscard]] any_tensor at(std::byte* workspace, std::span<const std::int64_t> strides) const {
    return any_tensor::unowned(workspace + offset, type, extents, strides);
  }
};

/// One request on its lane.
class convolution_run {
 public:
  convolution_run(const convolution_case& what, lane& where, compiled_plan& plan)
      : what_(what),
        where_(where),
        plan_(plan),
        form_(what.forms().at(static_cast<std::size_t>(plan.alternative()))) {}

  [[nodiscard]] result<void> operator()() {
    const epilogue& follows = what_.follows();
    // Sums that are what is wanted, or that the next pass changes in place.
    const bool direct = form_.fused || (!form_.staged && what_.sums_type(form_) == result_type() &&
                                        (!follows.adds() || follows.nothing()));
    pieces all;
    const std::size_t plan_at = all.add(static_cast<std::int64_t>(plan_.workspace_bytes()));
    staged_tensor first = staged(what_.first(), what_.operand_type(form_), all, form_.staged);
    staged_tensor second = staged(what_.second(), what_.operand_type(form_), all, form_.staged);
    staged_tensor sums = staged(what_.result(), what_.sums_type(form_), all, !direct);
    auto memory = where_.workspace(std::max<std::size_t>(all.bytes(), 1));
    if (!memory) return std::move(memory).error();
    std::byte* const base = memory->data();

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
      if (auto put = stage(what_.first(), first, base); !put) return put;
      if (auto put = stage(what_.second(), second, base); !put) return put;
      operands[convolution_case::first_at] = base + first.offset;
      operands[convolution_case::second_at] = base + second.offset;
    }
    if (!direct) operands[convolution_case::result_at] = base + sums.offset;

    auto library = cudnn_of(where_);
    if (!library) return std::move(library).error();
    if (auto done = plan_.run(*library, operands, base + plan_at, where_.stream()); !done) {
      return done;
    }
    if (form_.fused || (direct && follows.nothing())) return {};
    if (direct) return enqueue_after(follows, what_.result(), what_.result(), where_);
    auto made = form_.staged
                    ? interior(what_.result(),
                               sums.at(base, what_.staged_strides(sums.extents.extents(), form_)))
                    : result<any_tensor>(sums.at(base, what_.result().strides()));
    if (!made) return std::move(made).error();
    return enqueue_after(follows, *made, what_.result(), where_);
  }

 private:
  [[nodiscard]] dtype result_type() const noexcept { return what_.result().type(); }

  staged_tensor staged(const any_tensor& t, dtype type, pieces& all, bool needed) const {
    staged_tensor made{.extents = what_.extents_of(t, form_), .type = type};
    if (needed) made.offset = all.add(bytes_of(made.extents, type));
    return made;
  }

  [[nodiscard]] bool is_padded(const any_tensor& t) const noexcept {
    return what_.pads(form_) && &t == &what_.geometry().image.view;
  }

  // The part of a staged tensor that is no padding.
  [[nodiscard]] result<any_tensor> interior(const any_tensor& t, any_tensor whole) const {
    if (!is_padded(t)) return whole;
    for (int d = 0; d < what_.geometry().space(); ++d) {
      const std::int64_t before = what_.geometry().padding[static_cast<std::size_t>(d)];
      auto part = whole.slice(d + 2, before, before + t.extent(d + 2));
      if (!part) return part;
      whole = *std::move(part);
    }
    return whole;
  }

  [[nodiscard]] result<void> stage(const any_tensor& t, const staged_tensor& to, std::byte* base) {
    const any_tensor whole = to.at(base, what_.staged_strides(to.extents.extents(), form_));
    if (is_padded(t)) {
      const auto bytes = static_cast<std::size_t>(bytes_of(to.extents, to.type));
      if (auto done =
              check(cudaMemsetAsync(whole.address(), 0, bytes, where_.stream()), "cudaMemsetAsync");
          !done) {
        return done;
      }
    }
    auto part = interior(t, whole);
    if (!part) return std::move(part).error();
    return enqueue_copied(t, *part, where_);
  }

  const convolution_case& what_;
  lane& where_;
  compiled_plan& plan_;
  convolution_form form_;
};

// Of no images: a sum of nothing.
result<void> run_empty(const convolution_case& what, lane& where) {
  const any_tensor& to = what.result();
  if (to.empty()) return {};
  if (!what.follows().adds()) {
    // Dense, in whatever order.
    const auto bytes = static_cast<std::size_t>(to.count() * size_of(to.type()));
    return check(cudaMemsetAsync(to.address(), 0, bytes, where.stream()), "cudaMemsetAsync");
  }
  epilogue scaled{.alpha = what.follows().beta};
  return enqueue_after(scaled, to, to, where);
}

template <class R>
result<void> run(const R& r, lane& where) {
  const convolution_case what(r);
  if (what.empty()) return run_empty(what, where);
  auto plan = plan_of(what, where);
  if (!plan) return std::move(plan).error();
  return convolution_run(what, where, **plan)();
}

const plugin_operations operations([](operation_table& table) {
  add_planned<convolution_case, dnn::convolution_forward>(table, run);
  add_planned<convolution_case, dnn::convolution_backward_data>(table, run);
  add_planned<convolution_case, dnn::convolution_backward_filter>(table, run);
  add_planned<convolution_case, dnn::convolution_transposed>(table, run);
});

}  // namespace

result<void> run_convolution(const dnn::convolution_forward& r, lane& where) {
  return run(r, where);
}

}  // namespace troupe::cuda
