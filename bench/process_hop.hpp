#pragma once

#include <cstdint>

namespace troupe::bench {

/// The floor under every request to another process: a ring of 128-byte slots in shared memory
/// between this process and a forked one, both spinning.
struct process_hop {
  double round_trip_us_median = 0;
  double round_trip_us_p99 = 0;
  double pipelined_per_second = 0;
};

[[nodiscard]] process_hop measure_process_hop();

}  // namespace troupe::bench
