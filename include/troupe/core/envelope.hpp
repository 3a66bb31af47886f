#pragma once

#include <troupe/core/message.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace troupe::detail {

/// A coroutine started by a handler; it belongs to its actor until it ends.
struct turn_task {
  turn_task* previous = nullptr;
  turn_task* next = nullptr;
  /// Ends the coroutine without resuming it, and answers its message with the error.
  void (*abandon)(turn_task& self, const error& reason) noexcept = nullptr;
};

/// Counts a message whose handler has not finished; a system that shuts down waits for it.
class TROUPE_EXPORT unfinished {
 public:
  explicit unfinished(actor_cell& cell) noexcept;
  unfinished(unfinished&& other) noexcept
      : cell_(std::exchange(other.cell_, nullptr)), late_(other.late_) {}
  unfinished& operator=(unfinished&&) = delete;
  ~unfinished() {
    if (cell_ != nullptr) finish();
  }

 private:
  void finish() noexcept;

  actor_cell* cell_;
  bool late_;  ///< started after the shutdown had reached its actor
};

/// Takes the context of the message being handled, to pass it on with another message.
[[nodiscard]] TROUPE_EXPORT std::unique_ptr<message_context> take_context(
    actor_cell& cell) noexcept;
TROUPE_EXPORT void adopt(actor_cell& cell, turn_task& begun) noexcept;
TROUPE_EXPORT void finish(actor_cell& cell, turn_task& ended,
                          std::unique_ptr<error> failed) noexcept;
TROUPE_EXPORT resume_target& resume_target_of(actor_cell& cell) noexcept;
[[nodiscard]] inline std::unique_ptr<error> current_failure() noexcept {
  return std::make_unique<error>(current_exception_error());
}

/// Runs a coroutine handler. It keeps the message, because the handler may hold references to it.
template <class Envelope, class R>
struct handler_task final : turn_task {
  handler_task(Envelope& m, task<R> w, actor_cell& c)
      : kept(&m), work(std::move(w)), cell(&c), counted(c) {
    abandon = &abandon_task;
    auto& promise = work.handle().promise();
    promise.home = &resume_target_of(c);
    promise.finished = &finished;
    promise.finished_argument = this;
  }

  static void finished(void* argument) noexcept {
    auto* me = static_cast<handler_task*>(argument);
    std::unique_ptr<error> failed;
    try {
      if constexpr (std::is_void_v<R>) {
        me->work.handle().promise().take();
        me->kept->answer();
      } else {
        me->kept->answer(me->work.handle().promise().take());
      }
    } catch (...) {
      failed = current_failure();
      me->kept->answer_error(*failed);
    }
    actor_cell& cell = *me->cell;
    finish(cell, *me, std::move(failed));
    me->drop();
  }

  static void abandon_task(turn_task& self, const error& reason) noexcept {
    auto& me = static_cast<handler_task&>(self);
    me.kept->answer_error(reason);
    me.drop();
  }

  void drop() noexcept {
    Envelope* message = kept;
    drop_pooled(this);  // the frame first: it may refer to the message
    drop_pooled(message);
  }

  Envelope* kept;
  task<R> work;
  actor_cell* cell;
  unfinished counted;
};

/// Whether a handler's return type passes its message on to another actor.
template <class T>
inline constexpr bool is_delegated = false;

/// A message to an actor of type `A`, with a sink for the reply if it was asked.
template <class A, class M, bool Asked>
struct envelope final : message {
  static constexpr bool asked = Asked;
  using reply = reply_of<A, M>;
  struct no_sink {};

  template <class... Args>
  explicit envelope(Args&&... args) : message(type_of), body(std::forward<Args>(args)...) {}

  template <class... Value>
  void answer(Value&&... value) {
    if constexpr (Asked) sink.set_value(std::forward<Value>(value)...);
  }
  void answer_error(const error& e) {
    if constexpr (Asked) sink.set_error(e);
  }

  static std::unique_ptr<error> deliver(message& self, actor& receiver, actor_cell& cell) {
    auto& me = static_cast<envelope&>(self);
    using returned = handled<A, M>;
    try {
      A& target = static_cast<A&>(receiver);
      if constexpr (is_task<returned>) {
        using running = handler_task<envelope, typename returned::value_type>;
        auto* begun = make_pooled<running>(me, target.handle(std::move(me.body)), cell);
        adopt(cell, *begun);
        resume(begun->work.handle());
        return nullptr;  // the task owns the message now
      } else if constexpr (std::is_void_v<returned>) {
        target.handle(std::move(me.body));
        me.answer();
      } else if constexpr (is_delegated<returned>) {
        auto onward = target.handle(std::move(me.body));
        onward.send(me, cell);
      } else if constexpr (!Asked) {
        (void)target.handle(std::move(me.body));
      } else if constexpr (is_future<returned>) {
        // In two steps: if the handler throws, the sink still exists for the error.
        auto later = target.handle(std::move(me.body));
        forward(std::move(later), std::move(me.sink), unfinished(cell));
      } else if constexpr (is_result<returned>) {
        me.sink.set_result(target.handle(std::move(me.body)));
      } else {
        me.sink.set_value(target.handle(std::move(me.body)));
      }
    } catch (...) {
      auto failed = current_failure();
      me.answer_error(*failed);
      drop_pooled(&me);
      return failed;
    }
    drop_pooled(&me);
    return nullptr;
  }

  static void refuse(message& self, const error& reason) noexcept {
    auto& me = static_cast<envelope&>(self);
    me.answer_error(reason);
    drop_pooled(&me);
  }

  static bool give_up(message& self, const future_state_base& awaited, const error& why) noexcept
    requires Asked
  {
    auto& me = static_cast<envelope&>(self);
    const bool mine = me.sink.answers(awaited);
    if (mine) me.sink.set_error(why);
    return mine;
  }

  static constexpr message_type make_type() noexcept {
    message_type made{name_of<M>(), &deliver, &refuse};
    if constexpr (Asked) made.give_up = &give_up;
    return made;
  }
  static constexpr message_type type_of = make_type();

  [[no_unique_address]] std::conditional_t<Asked, promise<reply>, no_sink> sink = make_sink();
  M body;

 private:
  static auto make_sink() {
    if constexpr (Asked) {
      return promise<reply>(no_state);
    } else {
      return no_sink{};
    }
  }
};

}  // namespace troupe::detail
