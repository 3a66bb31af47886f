#pragma once

#include "worker/inbox.hpp"
#include "worker/job.hpp"

#include <cstddef>

namespace troupe::worker {

/// Whether a job whose turn has come is to run. \errors what its decoding found; `cancelled`, when
/// the program no longer wants it; `deadline_exceeded`
[[nodiscard]] result<void> may_run(job& j, const inbox& requests);

/// Calls the job's executor, which writes its reply to `reply`; should the process crash meanwhile,
/// the report names the job. \errors the executor's; what it throws becomes `out_of_memory` or
/// `handler_failed`
[[nodiscard]] result<void> call_executor(const job& j, lane_context& lane, std::byte* reply);

}  // namespace troupe::worker
