#pragma once

#include <troupe/jit/compiler.hpp>

#include <vector>

namespace troupe::cuda {

/// The headers that the source of kernels includes: made when this was built, from the files that
/// the interpreter is compiled with.
[[nodiscard]] std::vector<jit::header> device_headers();

}  // namespace troupe::cuda
