#pragma once

#include "gpu/raw/raw.hpp"
#include "side_by_side.hpp"

#include <troupe/core/system.hpp>

#include <fmt/format.h>

#include <string>

namespace troupe::bench {

/// Calls `measure` with a device of Troupe's, several times: each time with a new worker and, for
/// the floor, a new context of this program, created first by turns. The same calls of a vendor's
/// library take up to 3 % more or less time from one context to the next, on either side, and the
/// same all the time within one: differences finer than that need the mean of several.
template <class Measure>
void in_fresh_contexts(int count, Measure&& measure) {
  for (int i = 0; i < count; ++i) {
    const bool floor_first = i % 2 == 0;
    std::string name = floor_first ? raw::open_device() : std::string();
    {
      troupe::system system;
      const device gpu = system.device(0, {.backend = backend_kind::cuda, .full = when_full::wait});
      wait_until_settled(gpu, true);
      if (!floor_first) name = raw::open_device();
      if (i == 0) fmt::print("{}, {} context{}\n", name, count, count == 1 ? "" : "s");
      measure(gpu);
    }
    raw::close_device();
  }
}

/// Prints one context's share of a figure that is the mean of several contexts.
inline void print_context(const std::string& what, side_by_side& here) {
  fmt::print("  {}: {:.2f} us in this context, {:.2f} directly\n", what, here.ours.typical(),
             here.raw.typical());
}

}  // namespace troupe::bench
