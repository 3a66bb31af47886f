#pragma once

#include <troupe/core/envelope.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

namespace troupe {

namespace detail {

/// A timer of an actor, shared by its handle, its alarm and its message. The flags are sequentially
/// consistent, because an alarm that re-arms reads `cancelled` after it has stored its new id.
struct TROUPE_EXPORT timer_state {
  explicit timer_state(std::shared_ptr<timer_service> s) noexcept : service(std::move(s)) {}
  void cancel() noexcept;

  std::shared_ptr<timer_service> service;
  std::atomic<timer_id> alarm{};
  std::atomic<bool> cancelled{false};
  std::atomic<bool> in_mailbox{false};
  bool repeats = false;  ///< accessed only in the actor's turns
};

/// The message of a timer. It is dropped if the timer was cancelled after the message was sent. The
/// body is copied in the turn that handles it, so an exception from the copy is a failure of the
/// actor.
template <class A, class M>
struct timer_envelope final : message {
  timer_envelope(std::shared_ptr<M> b, std::shared_ptr<timer_state> s)
      : message(type_of), body(std::move(b)), state(std::move(s)) {}

  static std::unique_ptr<error> deliver(message& self, actor& receiver, actor_cell& cell) {
    auto& me = static_cast<timer_envelope&>(self);
    me.state->in_mailbox = false;
    if (me.state->cancelled) {
      drop_pooled(&me);
      return nullptr;
    }
    envelope<A, M, false>* plain = nullptr;
    try {
      plain = me.unpack();
    } catch (...) {
      auto failed = current_failure();
      drop_pooled(&me);
      return failed;
    }
    drop_pooled(&me);
    return plain->type->deliver(*plain, receiver, cell);
  }

  envelope<A, M, false>* unpack() {
    if constexpr (std::is_copy_constructible_v<M>) {
      if (state->repeats) return make_pooled<envelope<A, M, false>>(std::as_const(*body));
    }
    return make_pooled<envelope<A, M, false>>(std::move(*body));
  }

  static void refuse(message& self, const error&) noexcept {
    drop_pooled(&static_cast<timer_envelope&>(self));
  }

  static constexpr message_type type_of{name_of<M>(), &deliver, &refuse};

  std::shared_ptr<M> body;
  std::shared_ptr<timer_state> state;
};

[[nodiscard]] TROUPE_EXPORT std::shared_ptr<timer_state> new_timer(actor_cell& cell);
/// Calls `make` at each alarm. A period of zero means once.
TROUPE_EXPORT void arm(actor_cell& cell, std::shared_ptr<timer_state> state,
                       std::chrono::nanoseconds delay, std::chrono::nanoseconds period,
                       unique_function<message*()> make);

}  // namespace detail

/// Handle to a timer started by `actor::after` or `actor::every`. Use it in that actor's turns.
class timer {
 public:
  timer() = default;
  explicit timer(std::shared_ptr<detail::timer_state> state) noexcept : state_(std::move(state)) {}
  /// After this call no message of the timer is handled, even if one is already in the mailbox.
  void cancel() noexcept {
    if (state_) state_->cancel();
  }

 private:
  std::shared_ptr<detail::timer_state> state_;
};

namespace detail {

template <class Self, class M>
timer begin_timer(Self*, actor_cell& cell, std::chrono::nanoseconds delay,
                  std::chrono::nanoseconds period, M body) {
  static_assert(handles<Self, M>, "after, every: this actor has no handle() for this message");
  std::shared_ptr<timer_state> state = new_timer(cell);
  state->repeats = period > std::chrono::nanoseconds::zero();
  arm(cell, state, delay, period,
      [state, kept = std::make_shared<M>(std::move(body))]() -> message* {
        return make_pooled<timer_envelope<Self, M>>(kept, state);
      });
  return timer(std::move(state));
}

}  // namespace detail
}  // namespace troupe
