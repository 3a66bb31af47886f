#pragma once

#include "jit/client/job.hpp"

namespace troupe::jit {

/// Compiles with NVRTC. Its library is loaded only here.
/// \errors `library_missing`; `library_error` with NVRTC's code, and its log as the message;
/// `out_of_memory`
[[nodiscard]] result<binary> compile_with_nvrtc(const job& what);

/// Links with nvJitLink. \errors the same, for nvJitLink
[[nodiscard]] result<binary> link_with_nvjitlink(const job& what);

}  // namespace troupe::jit
