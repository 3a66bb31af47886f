#pragma once

#include "jit/client/job.hpp"

namespace troupe::jit {

/// Compiles by NVRTC. Its library is loaded here and nowhere else.
/// \errors `library_missing`; `library_error` with NVRTC's code, and its log as the message;
/// `out_of_memory`
[[nodiscard]] result<binary> compile_with_nvrtc(const job& what);

/// Links by nvJitLink. \errors the same, of nvJitLink
[[nodiscard]] result<binary> link_with_nvjitlink(const job& what);

}  // namespace troupe::jit
