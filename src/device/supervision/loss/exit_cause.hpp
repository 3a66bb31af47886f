#pragma once

#include "device/supervision/loss/recovery.hpp"
#include "os/process.hpp"
#include "wire/layout.hpp"

// Derives the cause of a loss from the exit of the worker process.
namespace troupe {

class reactor;
class role;

/// Clears a culprit that is a mapped tensor. It may seem to be the only running request, but it
/// never ran anything.
void clear_mapped_culprit(const role& held, reactor& completions, loss& what);

/// Fills in the cause of the loss from the exit status and the segment that the process left; the
/// device and the generation stay. Precondition: the process has been reaped, so its segment does
/// not change any more.
void explain_by_exit(const role& held, reactor& completions, const wire::worker_header& ended,
                     const os::exit_report& report, sign_of_loss& sign);

}  // namespace troupe
