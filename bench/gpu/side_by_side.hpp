#pragma once

#include "placement.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe::bench {

/// Times of one side.
struct side : samples {
  samples medians;  ///< one a block, if they were taken in blocks

  /// The middle of the blocks' medians: blocks run on other processors each, which differ by a
  /// third.
  [[nodiscard]] double typical() { return medians.empty() ? median() : medians.middle(); }

  side& operator+=(const side& more) {
    add(more);
    medians.add(more.medians);
    return *this;
  }
};

/// Times of the floor and of Troupe, taken in one run.
struct side_by_side {
  side raw;
  side ours;
  samples pairs;  ///< the second by the first, of the medians of two blocks on the same processors

  /// Troupe's time divided by the floor's. If a processor limits both, two runs of the same thing
  /// differ by up to 3 % in their medians, by 1 % in this.
  /// Nothing if there are no pairs.
  [[nodiscard]] std::optional<double> ratio() {
    return pairs.empty() ? std::nullopt : std::optional(pairs.middle());
  }

  side_by_side& operator+=(const side_by_side& more) {
    raw += more.raw;
    ours += more.ours;
    pairs.add(more.pairs);
    return *this;
  }
};

struct repetitions {
  int blocks = 20;      ///< for each side, taken in turn
  int warm_up = 10;     ///< runs at the start of each block that are not counted
  int per_block = 100;  ///< runs that are counted
  /// Each pair of blocks is taken on other processors; not for what keeps more than half of them
  /// busy.
  bool moves = true;
};

/// Runs both in blocks that alternate, the first of a pair alternating too, so that both see the
/// same machine: its clocks, its temperature, its neighbours and the processors. The cost of the
/// GPU's change from one context to the other falls into the warm-up.
template <class Raw, class Ours>
[[nodiscard]] side_by_side take_in_turn(const repetitions& n, Raw&& raw, Ours&& ours) {
  side_by_side found;
  placement processors;
  const auto block = [&](side& into, auto&& work) {
    for (int i = 0; i < n.warm_up; ++i)
      work();
    samples taken;
    taken.take(static_cast<std::size_t>(n.per_block), work);
    into.medians.add(taken.median());
    into.add(taken);
    return taken.median();
  };
  for (int i = 0; i < n.blocks; ++i) {
    if (n.moves) processors.move();
    double floor = 0;
    if (i % 2 == 0) floor = block(found.raw, raw);
    const double own = block(found.ours, ours);
    if (i % 2 != 0) floor = block(found.raw, raw);
    found.pairs.add(own / floor);
  }
  return found;
}

/// The name of one side's lines, and their target.
struct named {
  std::string name;
  std::string reference;
  std::string unit = "us";
  double per_microsecond = 1;  ///< units of work in each run
  std::optional<target> median{};
  std::optional<target> p99{};
};

/// Adds the typical time and the p99 of both. The first one's ratio is that of the pairs.
inline void add_times(report& out, side_by_side& times, const named& n) {
  out.add({n.name + ", p50", times.ours.typical() * n.per_microsecond, n.unit, n.reference,
           times.raw.typical() * n.per_microsecond, n.median, times.ratio()});
  out.add({n.name + ", p99", times.ours.p99() * n.per_microsecond, n.unit, n.reference,
           times.raw.p99() * n.per_microsecond, n.p99});
}

/// Adds the typical time of both as a rate: `amount` per run, in `unit` per second. The ratio is
/// that of the pairs.
inline void add_rate(report& out, side_by_side& times, double amount, const named& n) {
  const auto ratio = times.ratio();
  out.add({n.name, amount / times.ours.typical() * 1e6, n.unit, n.reference,
           amount / times.raw.typical() * 1e6, n.median,
           ratio ? std::optional(1 / *ratio) : std::nullopt});
}

/// Measures one thing; where that fails, the others are measured all the same.
template <class Measure>
void section(report& out, const std::string& name, Measure&& measure) {
  try {
    measure();
  } catch (const std::exception& failed) {
    out.could_not_measure(name, failed.what());
  }
}

/// Asks `ask(i)` for i below `count` with at most `window` answers open, and gets them all.
template <class Ask>
void pipeline(std::size_t count, std::size_t window, Ask&& ask) {
  std::vector<future<void>> open(window);
  for (std::size_t i = 0; i < count; ++i) {
    future<void>& place = open[i % window];
    if (i >= window) place.get();
    place = ask(i);
  }
  for (std::size_t i = count < window ? 0 : count - window; i < count; ++i)
    open[i % window].get();
}

/// Waits until no worker of the device is still starting, so that none disturbs the measurement.
inline void wait_until_settled(const device& gpu, bool standby) {
  gpu.wait_until_ready().value();
  const auto give_up = clock::now() + std::chrono::seconds(60);
  while (standby && !gpu.health().standby_ready && clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace troupe::bench
