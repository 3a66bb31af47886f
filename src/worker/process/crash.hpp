#pragma once

#include "wire/layout.hpp"

#include <cstdint>

namespace troupe::worker::crash {

/// The request that the calling thread works for, see `work_owner`; the signal handler of the same
/// thread reads it.
struct running_request {
  volatile std::uint64_t ticket = 0;
  volatile bool active = false;
};
[[nodiscard]] running_request& of_this_thread() noexcept;

/// Makes fatal signals write a report and then take their default course. For worker processes
/// only: the program's own signal handlers are left alone.
void install(wire::crash_report& report) noexcept;

/// Gives the calling thread a signal stack, so that a stack overflow can be reported too.
class signal_stack {
 public:
  signal_stack() noexcept;
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;
  ~signal_stack();

 private:
  void* stack_ = nullptr;
};

}  // namespace troupe::worker::crash
