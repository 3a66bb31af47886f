#pragma once

#include "raw.hpp"
#include "side_by_side.hpp"

#include <troupe/core/system.hpp>

#include <fmt/format.h>

namespace troupe::bench {

/// Calls `measure` with a device of Troupe's, several times: each time with a new worker and, for
/// the floor, a new context of this program. The same calls of a vendor's library take up to 3 %
/// more or less time from one context to the next, whoever makes them, and the same all the time
/// within one (docs/results/2026-11-22-h200-6.md): what is to be told apart more finely than that
/// is the mean of several.
template <class Measure>
void in_fresh_contexts(int count, Measure&& measure) {
  for (int i = 0; i < count; ++i) {
    const std::string name = raw::open_device();
    if (i == 0) fmt::print("{}, {} contexts\n", name, count);
    {
      troupe::system system;
      const device gpu = system.device(0, {.backend = backend_kind::cuda, .full = when_full::wait});
      wait_until_settled(gpu, true);
      measure(gpu);
    }
    raw::close_device();
  }
}

}  // namespace troupe::bench
