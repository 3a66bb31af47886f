#pragma once

#include <cuda_runtime_api.h>

namespace troupe::bench::raw {

/// Launches one thread that does nothing.
[[nodiscard]] cudaError_t launch_empty_kernel(cudaStream_t stream);

}  // namespace troupe::bench::raw
