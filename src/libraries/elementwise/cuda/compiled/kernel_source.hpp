#pragma once

#include "libraries/elementwise/cuda/kernel_plan.hpp"

#include <string>

namespace troupe::cuda {

/// The CUDA C++ source of a request's kernels, for the runtime compiler. The kernel is
/// `elementwise`; for rows that several blocks share, the kernels are `part_0`, `join_0`, `part_1`,
/// … by pass.
[[nodiscard]] std::string source_of(const elementwise::bound_request& r,
                                    const elementwise::loops& over, const kernel_plan& p);

}  // namespace troupe::cuda
