#pragma once

#include "backend/cuda/context/failure.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::cuda {

/// Stores the GPU's clock, in nanoseconds, at `where`, in host memory that the device accesses at
/// the same address. The clock ticks every 32 ns to 1 us, depending on the GPU.
[[nodiscard]] result<void> enqueue_stamp(std::uint64_t* where, cudaStream_t stream);

}  // namespace troupe::cuda
