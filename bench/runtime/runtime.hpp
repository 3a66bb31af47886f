#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

constexpr std::int64_t messages = 2'000'000;
constexpr int round_trips = 20'000;
constexpr int ring_size = 1'000;
constexpr std::int64_t ring_hops = 500'000;
constexpr int repeats = 3;

/// Microseconds.
struct round_trip {
  double median = 0;
  double p99 = 0;
};

/// Messages a second, best of `repeats`; "detached" is an actor with its own thread.
struct figures {
  double tell = 0;
  double tell_detached = 0;
  double tell_four = 0;
  double tell_four_detached = 0;
  double ring = 0;
  round_trip ask;
  round_trip ask_detached;
};

round_trip percentiles(std::vector<double> samples);
double best_of(int times, const std::function<double()>& measure);

figures measure_troupe();
figures measure_caf();  ///< zeros when the program was built without CAF

}  // namespace bench
