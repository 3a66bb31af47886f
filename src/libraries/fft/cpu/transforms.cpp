#include "libraries/fft/cpu/transforms.hpp"

#include "backend/operation_of.hpp"
#include "libraries/fft/cpu/fftw.hpp"
#include "libraries/fft/shared/functions.hpp"
#include "libraries/memory/shared/strided_loops.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace troupe::cpu {
namespace {

using elementwise::strided_loops;

// The operation that runs functions. Set once, while the plugin is loaded.
operation_of<elementwise::map> run_map;
const plugin_operations finds_map([](operation_table& table) { run_map.find_in(table); });

/// `to` = factor · `from`, element by element, each computed in `Real`.
template <class Real, class From, class To>
void scale_elements(const any_tensor& from, const any_tensor& to, Real factor) {
  const strided_loops loops(from, to);
  if (loops.empty) return;
  const auto& inner = loops.innermost();
  loops.for_each_row(from.address(), to.address(), [&](const std::byte* source, std::byte* target) {
    for (std::int64_t i = 0; i < inner.extent; ++i) {
      const From value = *reinterpret_cast<const From*>(source + i * inner.from);
      To& place = *reinterpret_cast<To*>(target + i * inner.to);
      if constexpr (std::is_same_v<From, To>) {
        place = value * factor;
      } else {
        place = static_cast<To>(static_cast<Real>(value) * factor);
      }
    }
  });
}

/// Elements of `type` as `Real` holds them: halves become f32.
template <class Real>
dtype carried(dtype type) noexcept {
  return fft::is_half(type) ? dtype_of<Real> : type;
}

/// The same between a view of a request and one of workspace, in either direction.
template <class Real>
void carry(const any_tensor& from, const any_tensor& to, double factor) {
  const auto by = static_cast<Real>(factor);
  if (is_complex(from.type())) {
    scale_elements<Real, std::complex<Real>, std::complex<Real>>(from, to, by);
  } else if (from.type() == to.type()) {
    scale_elements<Real, Real, Real>(from, to, by);
  } else if constexpr (std::is_same_v<Real, float>) {
    if (from.type() == dtype::f16) scale_elements<Real, f16, Real>(from, to, by);
    if (from.type() == dtype::bf16) scale_elements<Real, bf16, Real>(from, to, by);
    if (to.type() == dtype::f16) scale_elements<Real, Real, f16>(from, to, by);
    if (to.type() == dtype::bf16) scale_elements<Real, Real, bf16>(from, to, by);
  }
}

/// An operand's elements in workspace, row-major without gaps, as `Real`.
template <class Real>
any_tensor packed_like(const any_tensor& t, std::byte* at) noexcept {
  return any_tensor::unowned(at, carried<Real>(t.type()), shape(t.extents()));
}
/// The same view with the type of the operand, so that it counts the same numbers.
any_tensor as_operand(const any_tensor& t, std::byte* at) noexcept {
  return any_tensor::unowned(at, t.type(), shape(t.extents()));
}

/// True where several indices of the input are one element.
bool repeats(const fft::transform& t) noexcept {
  bool found = false;
  for (std::size_t d = 0; d < static_cast<std::size_t>(t.rank); ++d)
    found = found || (t.axes[d].n > 1 && t.axes[d].in == 0);
  for (std::size_t d = 0; d < static_cast<std::size_t>(t.batches); ++d)
    found = found || t.batch[d].in == 0;
  return found;
}

/// A request and the memory it is transformed in: its operands, or workspace.
template <class Real>
class transformation {
 public:
  transformation(const fft::transform& t, const fft::request_fields& r) : t_(t), r_(r) {
    const auto numbers = [&](bool function, const any_tensor& view, bool complex) {
      return function
                 ? fft::packed_numbers(fft::number_type(dtype_of<Real>, complex), view, nullptr)
                 : view;
    };
    in_ = numbers(r.loads(), r.in, t.in_is_complex());
    out_ = numbers(r.stores(), r.out, t.out_is_complex());
    const bool on_itself = fft::in_place(r.in, r.out);
    // FFTW overwrites the input of a c2r of several dimensions.
    const bool loses_input = t.kind == fft::kind::c2r && t.rank > 1 && !on_itself && !r.loads();
    const bool copies = fft::is_half(t.precision) || loses_input || repeats(t);
    own_out_ = copies || (r.stores() && r.out.type() != out_.type());
    // Complex numbers that a function gives may be written where their transform is to be.
    loads_into_target_ = r.loads() && t.kind == fft::kind::c2c;
    own_in_ = copies || (r.loads() && !loads_into_target_);
    spends_input_ = on_itself || own_in_ || loads_into_target_;
  }

  /// Both sides in workspace, packed, which FFTW always takes.
  void move_both() noexcept {
    own_in_ = own_out_ = spends_input_ = true;
    loads_into_target_ = false;
  }

  /// False where FFTW does not do it so. \errors `out_of_memory`; those of the functions
  result<bool> run(lane_context& lane) const {
    const std::int64_t in_bytes = own_in_ ? bytes_of(in_) : 0;
    std::byte* workspace = nullptr;
    if (own_in_ || own_out_) {
      auto memory =
          lane.workspace(static_cast<std::size_t>(in_bytes + (own_out_ ? bytes_of(out_) : 0)));
      if (!memory) return std::move(memory).error();
      workspace = memory->data();
    }
    const any_tensor target = own_out_ ? as_operand(out_, workspace + in_bytes) : r_.out;
    const any_tensor source = own_in_              ? as_operand(in_, workspace)
                              : loads_into_target_ ? target
                                                   : r_.in;
    const fft::transform what = fft::lay_out(t_, source, target);
    const auto plan = plan_for<Real>(what, source.address(), target.address(),
                                     spends_input_ ? input::spent : input::kept);
    if (!plan) return false;
    if (r_.loads()) {
      if (auto done = run_map(fft::load_map(r_, source), lane); !done)
        return std::move(done).error();
    } else if (own_in_) {
      carry<Real>(r_.in, packed_like<Real>(in_, source.address()), 1);
    }
    cpu::run<Real>(plan, what, source.address(), target.address());
    if (auto done = finish(target, lane); !done) return std::move(done).error();
    return true;
  }

 private:
  static std::int64_t bytes_of(const any_tensor& view) noexcept {
    constexpr std::int64_t alignment = 64;
    const std::int64_t bytes = view.count() * size_of(carried<Real>(view.type()));
    return (bytes + alignment - 1) / alignment * alignment;
  }

  // The rest of the work on the sums.
  result<void> finish(const any_tensor& target, lane_context& lane) const {
    if (!r_.stores()) {
      const any_tensor sums = own_out_ ? packed_like<Real>(out_, target.address()) : target;
      if (own_out_ || t_.factor != 1) carry<Real>(sums, r_.out, t_.factor);
      return {};
    }
    elementwise::map last = fft::store_map(r_, target);
    if (t_.factor != 1) {
      if (auto scaled = fft::scaled_store(r_, t_.factor, t_.out_is_complex())) {
        last.what = *std::move(scaled);
      } else {
        carry<Real>(target, target, t_.factor);
      }
    }
    return run_map(last, lane);
  }

  const fft::transform& t_;
  const fft::request_fields& r_;
  any_tensor in_;  // the operands, or the shape of what functions make of them
  any_tensor out_;
  bool own_in_ = false;  // in workspace
  bool own_out_ = false;
  bool loads_into_target_ = false;
  bool spends_input_ = false;
};

template <class Real>
result<void> transform_as(const fft::transform& t, const fft::request_fields& r,
                          lane_context& lane) {
  transformation<Real> where_it_lies(t, r);
  auto done = where_it_lies.run(lane);
  if (done && !*done) {
    where_it_lies.move_both();
    done = where_it_lies.run(lane);
  }
  if (!done) return std::move(done).error();
  if (*done) return {};
  return error{.code = errc::library_error,
               .message = "no plan for " + r.in.to_string() + " to " + r.out.to_string(),
               .library = "fftw",
               .call = "plan_guru64_dft"};
}

}  // namespace

result<void> transform_all(const fft::transform& t, const fft::request_fields& r,
                           lane_context& lane) {
  if (t.empty) return {};
  return t.precision == dtype::f64 ? transform_as<double>(t, r, lane)
                                   : transform_as<float>(t, r, lane);
}

}  // namespace troupe::cpu
