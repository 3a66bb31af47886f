#pragma once

#include <troupe/base/export.hpp>

#include <chrono>

namespace troupe {

class future_state_base;

/// Brings completions in on the thread that waits for them: a thread blocked in `get()` or `wait()`
/// on an incomplete future whose state names a driver calls the driver instead of spinning by
/// itself. A driver only makes waiting faster: a future must also complete when nobody drives it.
class TROUPE_EXPORT completion_driver {
 public:
  completion_driver() = default;
  completion_driver(const completion_driver&) = delete;
  completion_driver& operator=(const completion_driver&) = delete;
  virtual ~completion_driver();

  /// Returns once `state.ready()` or the deadline has passed (`time_point::max()`: no deadline). It
  /// may return early; the waiter then calls again. To sleep, use `state.park_until`, which the
  /// completer wakes.
  virtual void drive_until(const future_state_base& state,
                           std::chrono::steady_clock::time_point deadline) noexcept = 0;

  /// Called before a continuation is attached to an incomplete state: somebody wants to hear of its
  /// completion without waiting for it.
  virtual void continuation_attached() noexcept;

  /// Called once for each future state that names this driver, derived futures included, and once
  /// when that state is destroyed. A driver that may die before such states counts references here;
  /// one that outlives them all needs neither.
  virtual void retain() noexcept;
  virtual void release() noexcept;
};

}  // namespace troupe
