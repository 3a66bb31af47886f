#pragma once

#include "device/supervision/loss/recovery.hpp"
#include "os/process.hpp"
#include "wire/layout.hpp"

// What the end of a worker process says about its loss.
namespace troupe {

class reactor;

/// Takes the name of a culprit back that is a mapped tensor. That may seem to be the only one that
/// runs, and never did anything. Takes the reactor's role.
void clear_mapped_culprit(reactor& completions, loss& what);

/// Fills in what has happened, and why, from how the process ended and what it left in its segment;
/// the device and the generation stay. Takes the reactor's role. Precondition: the process has been
/// reaped, so its segment does not change any more.
void explain_by_exit(reactor& completions, const wire::worker_header& ended,
                     const os::exit_report& report, sign_of_loss& sign);

}  // namespace troupe
