#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/unique_function.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace troupe {

enum class timer_id : std::uint64_t {};

/// A clock with an alarm. One thread serves the whole process; a test kit has a virtual one.
class TROUPE_EXPORT timer_service {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  timer_service() = default;
  timer_service(const timer_service&) = delete;
  timer_service& operator=(const timer_service&) = delete;
  virtual ~timer_service();

  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Has what `add` needs begin now, so that it cannot fail for that later: throws `failure`
  /// (`errc::system_error`) where the thread cannot be started.
  virtual void start();

  /// Calls `expire` once, not before `when`, on the service's thread: keep it short; continuations
  /// of what it completes run elsewhere. Starts that thread where nobody has, and throws as `start`
  /// does.
  virtual timer_id add(time_point when, unique_function<void()> expire) = 0;

  /// Destroys the call if it has not begun; it may be running while this returns.
  virtual void cancel(timer_id id) noexcept = 0;

  /// The service of the actor system whose turn this thread runs, else the process's own.
  [[nodiscard]] static std::shared_ptr<timer_service> current();
  [[nodiscard]] static std::shared_ptr<timer_service> of_process();
};

}  // namespace troupe
