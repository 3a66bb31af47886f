#pragma once

#include <troupe/base/export.hpp>
#include <troupe/core/future_state.hpp>

#include <atomic>
#include <coroutine>
#include <cstdint>

namespace troupe::detail {

/// Resumes a coroutine, then each coroutine that it and its successors hand over to, one after the
/// other. Resumptions never nest, however deep coroutines await each other and however long they
/// loop. Compilers guarantee tail calls for symmetric transfer only in optimised builds.
TROUPE_EXPORT void resume(std::coroutine_handle<> first) noexcept;
/// Called by a coroutine that suspends: `next` is resumed once it is suspended.
TROUPE_EXPORT void hand_over(std::coroutine_handle<> suspends,
                             std::coroutine_handle<> next) noexcept;

/// Work for an actor's turn besides its messages. `run` consumes the node; it is called even after
/// the actor has stopped.
struct turn_work {
  turn_work* next = nullptr;
  void (*run)(turn_work& self) noexcept = nullptr;
};

/// Resumes an actor's coroutines in its turns.
class TROUPE_EXPORT resume_target {
 public:
  virtual void post(turn_work& work) noexcept = 0;
  virtual void retain_home() noexcept = 0;
  virtual void release_home() noexcept = 0;

 protected:
  ~resume_target() = default;
};

/// A coroutine that waits for a future. Owned by the waiting frame and by the completion. Whichever
/// exchanges `stage_` first decides whether the coroutine resumes (acq_rel: the second one sees
/// what the first wrote).
class TROUPE_EXPORT suspended_wait final : public continuation, public turn_work {
 public:
  static suspended_wait* make(std::coroutine_handle<> waiter, resume_target* home);

  suspended_wait(std::coroutine_handle<> waiter, resume_target* home) noexcept;
  ~suspended_wait();
  suspended_wait(const suspended_wait&) = delete;
  suspended_wait& operator=(const suspended_wait&) = delete;

  [[nodiscard]] future_state_base& completed() const noexcept { return *completed_; }

  /// Called when the waiting frame is destroyed, whether it was resumed or not.
  void leave() noexcept;

 private:
  enum class stage : std::uint8_t { waiting, resumed, left };

  static bool has_left(const continuation& self, int links) noexcept;
  static void future_completed(continuation& self, future_state_base& state) noexcept;
  static void resume_in_turn(turn_work& self) noexcept;
  void resume() noexcept;
  void release() noexcept;

  std::coroutine_handle<> waiter_;
  resume_target* home_;
  future_state_base* completed_ = nullptr;
  std::atomic<stage> stage_{stage::waiting};
  std::atomic<std::uint32_t> references_{2};
};

}  // namespace troupe::detail
