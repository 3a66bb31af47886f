#pragma once

// The lane that plugins see, for sources that call CUDA.
#include <troupe/plugin/cuda.hpp>

#include <cuda_runtime_api.h>
