#pragma once

namespace troupe::emulated {

/// A cuRAND whose word number i of the stream of seed s is s · 10⁸ + i, and memory beside it. The
/// calls that it refuses for lack of memory:
struct curand_refusals {
  bool create = false;
  bool seed = false;
};
curand_refusals& refusals();

/// How many generators there are.
int generators();

}  // namespace troupe::emulated
