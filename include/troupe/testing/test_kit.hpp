#pragma once

#include <troupe/core/system.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace troupe::testing {

/// An actor system that runs nothing by itself: the test controls when messages are handled and
/// what time it is. The same seed gives the same order of all events. For use by one thread only.
///
/// `get()` and `wait()` on a reply run actors until the reply arrives; if it never does, they hang.
class TROUPE_EXPORT test_kit {
 public:
  /// With seed 0 ready actors take turns in the order in which they became ready; any other seed
  /// gives a pseudo-random order. The seed also determines the backoff jitter.
  explicit test_kit(std::uint64_t seed = 0, system_config config = {});
  test_kit(const test_kit&) = delete;
  test_kit& operator=(const test_kit&) = delete;
  /// Shuts the system down, first gracefully, then by force.
  ~test_kit();

  [[nodiscard]] troupe::system& system() noexcept;

  /// Lets one ready actor handle one message, or one piece of the runtime's own work. False if no
  /// actor was ready.
  bool step();
  /// Steps until no actor is ready; returns the number of steps.
  std::size_t run_until_idle();

  /// Advances the clock by `duration`. Runs until idle, then moves the clock to each alarm that is
  /// due (timers, backoffs, timeouts), in order, and runs until idle after each.
  void advance(std::chrono::nanoseconds duration);
  [[nodiscard]] std::chrono::steady_clock::time_point now() const noexcept;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe::testing
