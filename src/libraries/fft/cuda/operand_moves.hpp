#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/fft/shared/functions.hpp"

#include <cstddef>
#include <cstdint>

/// What is done with operands beside a call of cuFFT.
namespace troupe::cuda {

/// cuFFT loads real numbers two at a time, as it does complex ones. Source: cuFFT documentation,
/// cufftExecR2C.
[[nodiscard]] bool aligned(const fft::transform& t, const any_tensor& view) noexcept;

/// An operand's elements side by side, row-major.
[[nodiscard]] any_tensor packed_like(const any_tensor& t, std::byte* at) noexcept;
[[nodiscard]] std::int64_t bytes_of(const any_tensor& t) noexcept;

[[nodiscard]] result<void> enqueue_copy(const any_tensor& from, const any_tensor& to,
                                        cudaStream_t stream);
/// Runs a map as a request of its own would be.
[[nodiscard]] result<void> enqueue_map(const elementwise::map& what, lane& where);

/// Scales the sums, has store compute of them, and moves them to `out`.
[[nodiscard]] result<void> enqueue_finish(const fft::transform& t, const fft::request_fields& r,
                                          const any_tensor& target, bool copies, lane& where);

}  // namespace troupe::cuda
