#pragma once

#include "libraries/elementwise/cuda/kernel_plan.hpp"

#include <string>

namespace troupe::cuda {

/// CUDA C++ of the kernels of a request, for the runtime compiler: `elementwise`, or, for rows that
/// several blocks share, `part_0`, `join_0`, `part_1`, … by pass.
[[nodiscard]] std::string source_of(const elementwise::bound_request& r,
                                    const elementwise::loops& over, const kernel_plan& p);

}  // namespace troupe::cuda
