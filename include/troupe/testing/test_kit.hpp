#pragma once

#include <troupe/core/system.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace troupe::testing {

/// An actor system that runs nothing by itself: the test decides when a message is handled and what
/// time it is. The same seed gives the same order of everything. For one thread only.
///
/// `get()` and `wait()` on a reply run actors until it is there; if that is never, they hang.
class TROUPE_EXPORT test_kit {
 public:
  /// Ready actors take turns in the order they became ready, or with a seed other than 0 in an
  /// order drawn from it. Backoff jitter is drawn from the seed as well.
  explicit test_kit(std::uint64_t seed = 0, system_config config = {});
  test_kit(const test_kit&) = delete;
  test_kit& operator=(const test_kit&) = delete;
  /// Shuts the system down, first in order, then by force.
  ~test_kit();

  [[nodiscard]] troupe::system& system() noexcept;

  /// Lets one ready actor handle one message (or one piece of the runtime's own work). False: no
  /// actor was ready.
  bool step();
  /// Steps until no actor is ready; how many steps that took.
  std::size_t run_until_idle();

  /// Runs until idle, then moves the clock to each alarm that falls due, in order, running until
  /// idle after each: timers, backoffs, timeouts.
  void advance(std::chrono::nanoseconds duration);
  [[nodiscard]] std::chrono::steady_clock::time_point now() const noexcept;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe::testing
