#pragma once

#include <troupe/base/export.hpp>
#include <troupe/core/future_state.hpp>

#include <atomic>
#include <coroutine>
#include <cstdint>

namespace troupe::detail {

/// Resumes a coroutine, and then those that it, and they, hand over to, one after the other: never
/// one inside another, as deep as they may await each other and in loops of any length. That a
/// compiler makes tail calls of such handing over is certain only where it optimises.
TROUPE_EXPORT void resume(std::coroutine_handle<> first) noexcept;
/// By a coroutine that suspends: `next` is resumed once it has.
TROUPE_EXPORT void hand_over(std::coroutine_handle<> suspends,
                             std::coroutine_handle<> next) noexcept;

/// Something to do in an actor's turn besides its messages. `run` uses the node up; it is also
/// called after the actor has stopped.
struct turn_work {
  turn_work* next = nullptr;
  void (*run)(turn_work& self) noexcept = nullptr;
};

/// Where coroutines of an actor resume: its turns.
class TROUPE_EXPORT turn_home {
 public:
  virtual void post(turn_work& work) noexcept = 0;
  virtual void retain_home() noexcept = 0;
  virtual void release_home() noexcept = 0;

 protected:
  ~turn_home() = default;
};

/// A coroutine that waits for a future. Owned by the waiting frame and by the completion; whoever
/// exchanges `stage_` first decides whether the coroutine resumes (acq_rel: the one who comes
/// second sees what the first wrote).
class TROUPE_EXPORT suspended_wait final : public continuation, public turn_work {
 public:
  static suspended_wait* make(std::coroutine_handle<> waiter, turn_home* home);

  suspended_wait(std::coroutine_handle<> waiter, turn_home* home) noexcept;
  ~suspended_wait();
  suspended_wait(const suspended_wait&) = delete;
  suspended_wait& operator=(const suspended_wait&) = delete;

  [[nodiscard]] future_state_base& completed() const noexcept { return *completed_; }

  /// The waiting frame ends, resumed or not.
  void leave() noexcept;

 private:
  enum class stage : std::uint8_t { waiting, resumed, left };

  static bool has_left(const continuation& self, int links) noexcept;
  static void future_completed(continuation& self, future_state_base& state) noexcept;
  static void resume_in_turn(turn_work& self) noexcept;
  void resume() noexcept;
  void release() noexcept;

  std::coroutine_handle<> waiter_;
  turn_home* home_;
  future_state_base* completed_ = nullptr;
  std::atomic<stage> stage_{stage::waiting};
  std::atomic<std::uint32_t> references_{2};
};

}  // namespace troupe::detail
