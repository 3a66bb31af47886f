#pragma once

#include <troupe/base/error.hpp>

#include <chrono>
#include <new>
#include <thread>

namespace troupe {

/// The error when the program's memory is exhausted. Cannot fail: its text may be missing.
[[nodiscard]] inline error no_host_memory() noexcept {
  error none{.code = errc::out_of_memory};
  try {
    none.message = "host memory is exhausted";
  } catch (const std::bad_alloc&) {
    // The code is enough.
  }
  return none;
}

/// Does work that must not be skipped, even if a failure cannot be reported: without memory it
/// retries until there is some. `step` may run again after it ran in part.
template <class Step>
void insist_on(Step&& step) noexcept {
  for (;;) {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace troupe
