#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <ctime>

namespace troupe::kills {

/// Kills a process after a time, from a signal handler: so it comes between any two instructions of
/// the process that kills, too. One at a time; of the main thread.
class executioner {
 public:
  using clock = std::chrono::steady_clock;
  /// The current activity of the process that kills.
  enum class scene : std::uint8_t { turning, sending, waiting };

  executioner();
  ~executioner();
  executioner(const executioner&) = delete;
  executioner& operator=(const executioner&) = delete;

  void kill_in(pid_t victim, std::chrono::nanoseconds delay);
  /// Somebody else kills it.
  static void watch(pid_t victim) noexcept;
  /// When it has struck; the clock's epoch while it has not.
  [[nodiscard]] static clock::time_point struck_at() noexcept;
  [[nodiscard]] static scene was_at() noexcept;
  /// Until the next one there is no victim.
  static void rest() noexcept;
  [[nodiscard]] static bool has_victim() noexcept;

  static void note(scene now) noexcept;

 private:
  timer_t timer_{};
};

}  // namespace troupe::kills
