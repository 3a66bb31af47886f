#pragma once

#include "os/thread.hpp"
#include "worker/process/crash.hpp"

#include <thread>
#include <utility>

namespace troupe::worker {

/// Starts a thread that runs operations. In a worker process it blocks no signals, because a
/// program that an operation starts would inherit that; and it has a stack for crash reports.
template <class Body>
[[nodiscard]] std::jthread start_lane_thread(bool in_process, Body body) {
  if (!in_process) return os::start_thread<std::jthread>(std::move(body));
  return std::jthread([run = std::move(body)] {
    const crash::signal_stack stack;
    run();
  });
}

}  // namespace troupe::worker
