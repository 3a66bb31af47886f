#include "libraries/fft/cpu/transforms.hpp"

#include "libraries/fft/cpu/fftw.hpp"
#include "libraries/memory/shared/strided_loops.hpp"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace troupe::cpu {
namespace {

using elementwise::strided_loops;

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

/// Copies in, transforms in workspace, and copies out: what FFTW cannot do where it lies.
template <class Real>
result<void> transform_in_workspace(const fft::transform& t, const any_tensor& in,
                                    const any_tensor& out, lane_context& lane) {
  constexpr std::int64_t alignment = 64;
  const auto bytes_of = [](const any_tensor& view) {
    const std::int64_t bytes = view.count() * size_of(carried<Real>(view.type()));
    return (bytes + alignment - 1) / alignment * alignment;
  };
  auto room = lane.workspace(static_cast<std::size_t>(bytes_of(in) + bytes_of(out)));
  if (!room) return std::move(room).error();
  std::byte* const source = room->data();
  std::byte* const target = room->data() + bytes_of(in);
  const fft::transform packed = fft::lay_out(t, as_operand(in, source), as_operand(out, target));
  const auto plan = plan_for<Real>(packed, source, target, input::spent);
  if (!plan) {
    return error{.code = errc::library_error,
                 .message = "no plan for " + in.to_string() + " to " + out.to_string(),
                 .library = "fftw",
                 .call = "plan_guru64_dft"};
  }
  carry<Real>(in, packed_like<Real>(in, source), 1);
  run<Real>(plan, packed, source, target);
  carry<Real>(packed_like<Real>(out, target), out, t.factor);
  return {};
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

template <class Real>
result<void> transform_as(const fft::transform& t, const any_tensor& in, const any_tensor& out,
                          lane_context& lane) {
  const bool on_itself = fft::in_place(in, out);
  // FFTW overwrites the input of a c2r of several dimensions.
  const bool loses_input = t.kind == fft::kind::c2r && t.rank > 1 && !on_itself;
  if (fft::is_half(t.precision) || loses_input || repeats(t)) {
    return transform_in_workspace<Real>(t, in, out, lane);
  }
  const auto plan =
      plan_for<Real>(t, in.address(), out.address(), on_itself ? input::spent : input::kept);
  if (!plan) return transform_in_workspace<Real>(t, in, out, lane);
  run<Real>(plan, t, in.address(), out.address());
  if (t.factor != 1) carry<Real>(out, out, t.factor);
  return {};
}

}  // namespace

result<void> transform_all(const fft::transform& t, const any_tensor& in, const any_tensor& out,
                           lane_context& lane) {
  if (t.empty) return {};
  return t.precision == dtype::f64 ? transform_as<double>(t, in, out, lane)
                                   : transform_as<float>(t, in, out, lane);
}

}  // namespace troupe::cpu
