#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/unique_function.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace troupe {

enum class timer_id : std::uint64_t {};

/// A clock with alarms. One thread serves the whole process; a test kit has a virtual clock.
class TROUPE_EXPORT timer_service {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  timer_service() = default;
  timer_service(const timer_service&) = delete;
  timer_service& operator=(const timer_service&) = delete;
  virtual ~timer_service();

  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Starts the timer thread now, so that `add` cannot fail later because of it. Throws `failure`
  /// (`errc::system_error`) if the thread cannot be started.
  virtual void start();

  /// Calls `expire` once, not before `when`, on the service's thread. Keep it short; continuations
  /// of futures that it completes run elsewhere. Starts the thread if it is not running, and throws
  /// as `start` does.
  virtual timer_id add(time_point when, unique_function<void()> expire) = 0;

  /// Discards the call if it has not begun; the call may still be running when this returns.
  virtual void cancel(timer_id id) noexcept = 0;

  /// The timer service of the actor system whose turn this thread runs, else that of the process.
  [[nodiscard]] static std::shared_ptr<timer_service> current();
  [[nodiscard]] static std::shared_ptr<timer_service> of_process();
};

}  // namespace troupe
