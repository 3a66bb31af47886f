#pragma once

#include <troupe/jit/compiler.hpp>

#include <vector>

namespace troupe::cuda {

/// The headers that kernel sources include. They are embedded at build time, from the files that
/// the interpreter is compiled with.
[[nodiscard]] std::vector<jit::header> device_headers();

}  // namespace troupe::cuda
