#pragma once

#include "backend/cuda/context/failure.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace troupe::cuda {

/// Copies a failure that kernels have written to a reply slot in device memory, if there is one, to
/// the slot whose bytes are at `reply`.
[[nodiscard]] result<void> deliver_failure(const std::byte* slot, std::byte* reply,
                                           cudaStream_t stream);

}  // namespace troupe::cuda
