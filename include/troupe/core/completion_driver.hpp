#pragma once

#include <troupe/base/export.hpp>

#include <chrono>

namespace troupe {

class future_state_base;

/// Processes completions on the thread that waits for them. A thread that blocks in `get()` or
/// `wait()` on an incomplete future calls the driver of the future's state, if it has one, instead
/// of spinning. A driver only makes waiting faster: a future must also complete without one.
class TROUPE_EXPORT completion_driver {
 public:
  completion_driver() = default;
  completion_driver(const completion_driver&) = delete;
  completion_driver& operator=(const completion_driver&) = delete;
  virtual ~completion_driver();

  /// Returns when `state.ready()` is true or the deadline has passed (`time_point::max()`: no
  /// deadline). It may return early; the waiter then calls it again. To sleep, use
  /// `state.park_until`, which the completer wakes.
  virtual void drive_until(const future_state_base& state,
                           std::chrono::steady_clock::time_point deadline) noexcept = 0;

  /// Called before a continuation is attached to an incomplete state: its completion is wanted, but
  /// no thread waits for it.
  virtual void continuation_attached() noexcept;

  /// `retain` is called once for each future state that names this driver, including derived
  /// futures; `release` is called once when such a state is destroyed. A driver that may be
  /// destroyed before these states counts references here; one that outlives them needs neither.
  virtual void retain() noexcept;
  virtual void release() noexcept;
};

}  // namespace troupe
