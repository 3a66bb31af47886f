#pragma once

#include "jit/client/job.hpp"
#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

#include <string>

namespace troupe::jit {

/// The compiler program that the config names, or the one beside the library.
[[nodiscard]] std::string compiler_executable(const compiler_config& config);

/// Runs a job in a process of its own and waits for it. The process is killed when its time is
/// over, or when `end` is signalled (an event that is never reset).
/// \errors the job's own; `deadline_exceeded`, `out_of_memory` with the limit; `cancelled`;
/// `library_error` if the process crashed, with its signal; `worker_not_found`; `system_error`
[[nodiscard]] result<binary> run_job(const job& what, const compile_limits& limits,
                                     const std::string& executable, const os::unique_fd& end);

}  // namespace troupe::jit
