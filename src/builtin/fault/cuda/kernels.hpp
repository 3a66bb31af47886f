#pragma once

#include "backend/cuda/context/failure.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

/// Kernels with faults. Each function enqueues one.
namespace troupe::cuda {

/// Writes a byte there.
[[nodiscard]] result<void> enqueue_write(std::byte* where, cudaStream_t stream);
/// Writes a word there, with any alignment.
[[nodiscard]] result<void> enqueue_write_word(std::byte* where, cudaStream_t stream);
[[nodiscard]] result<void> enqueue_trap(cudaStream_t stream);
[[nodiscard]] result<void> enqueue_failed_assertion(cudaStream_t stream);
/// `scratch` has space for one word.
[[nodiscard]] result<void> enqueue_stack_overflow(std::byte* scratch, cudaStream_t stream);
/// Is refused by the driver.
[[nodiscard]] result<void> enqueue_invalid_launch(cudaStream_t stream);

[[nodiscard]] result<void> enqueue_spin(std::int64_t duration_ns, cudaStream_t stream);
/// Waits until `*flag` is not 0, at most so long; then sets `count` elements of `output`, or adds
/// to them.
[[nodiscard]] result<void> enqueue_spin_until(const std::uint32_t* flag, std::int64_t at_most_ns,
                                              float* output, std::int64_t count, float value,
                                              bool add, cudaStream_t stream);

/// As `load_copy_kernels`.
[[nodiscard]] result<void> load_fault_kernels();

}  // namespace troupe::cuda
