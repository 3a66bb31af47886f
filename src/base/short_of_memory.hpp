#pragma once

#include <troupe/base/error.hpp>

#include <chrono>
#include <new>
#include <thread>

namespace troupe {

/// For what ends because memory of the program is exhausted. Does not fail: its text may be left
/// out.
[[nodiscard]] inline error no_host_memory() noexcept {
  error none{.code = errc::out_of_memory};
  try {
    none.message = "host memory is exhausted";
  } catch (const std::bad_alloc&) {
    // The code says it.
  }
  return none;
}

/// Does what must not be left undone, also where it cannot be told of: without memory it is tried
/// again until there is some. `step` can be done again after it was done in part.
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
