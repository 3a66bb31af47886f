#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/fft/shared/functions.hpp"

#include <cstddef>
#include <cstdint>

/// The work on operands before and after a call of cuFFT.
namespace troupe::cuda {

/// True if the view is aligned for cuFFT, which loads real numbers in pairs, like complex ones.
/// Source: cuFFT documentation, cufftExecR2C.
[[nodiscard]] inline bool aligned(const fft::transform& t, const any_tensor& view) noexcept {
  const auto wanted = static_cast<std::uintptr_t>(fft::number_bytes(t.precision, true));
  return reinterpret_cast<std::uintptr_t>(view.address()) % wanted == 0;
}

/// A packed view with an operand's extents, in row-major order.
[[nodiscard]] inline any_tensor packed_like(const any_tensor& t, std::byte* at) noexcept {
  return any_tensor::unowned(at, t.type(), shape(t.extents()));
}
[[nodiscard]] inline std::int64_t bytes_of(const any_tensor& t) noexcept {
  return t.count() * size_of(t.type());
}

[[nodiscard]] result<void> enqueue_copy(const any_tensor& from, const any_tensor& to,
                                        cudaStream_t stream);
/// Runs a map like a separate request.
[[nodiscard]] result<void> enqueue_map(const elementwise::map& what, lane& where);

/// Scales the sums, applies store to them, and moves them to `out`.
[[nodiscard]] result<void> enqueue_finish(const fft::transform& t, const fft::request_fields& r,
                                          const any_tensor& target, bool copies, lane& where);

}  // namespace troupe::cuda
