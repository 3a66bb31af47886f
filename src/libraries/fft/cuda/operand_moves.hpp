#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/fft/shared/functions.hpp"

#include <cstddef>
#include <cstdint>

/// What is done with operands beside a call of cuFFT.
namespace troupe::cuda {

/// cuFFT loads real numbers two at a time, as it does complex ones. Source: cuFFT documentation,
/// cufftExecR2C.
[[nodiscard]] inline bool aligned(const fft::transform& t, const any_tensor& view) noexcept {
  const auto wanted = static_cast<std::uintptr_t>(fft::number_bytes(t.precision, true));
  return reinterpret_cast<std::uintptr_t>(view.address()) % wanted == 0;
}

/// An operand's elements side by side, row-major.
[[nodiscard]] inline any_tensor packed_like(const any_tensor& t, std::byte* at) noexcept {
  return any_tensor::unowned(at, t.type(), shape(t.extents()));
}
[[nodiscard]] inline std::int64_t bytes_of(const any_tensor& t) noexcept {
  return t.count() * size_of(t.type());
}

[[nodiscard]] result<void> enqueue_copy(const any_tensor& from, const any_tensor& to,
                                        cudaStream_t stream);
/// Runs a map as a request of its own would be.
[[nodiscard]] result<void> enqueue_map(const elementwise::map& what, lane& where);

/// Scales the sums, has store compute of them, and moves them to `out`.
[[nodiscard]] result<void> enqueue_finish(const fft::transform& t, const fft::request_fields& r,
                                          const any_tensor& target, bool copies, lane& where);

}  // namespace troupe::cuda
