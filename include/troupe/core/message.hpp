#pragma once

#include <troupe/core/task.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace troupe {

class actor;

/// What `actor_ref<A>::tell` and `ask` accept for A.
template <class A, class M>
concept handles = requires(A& receiver, M message) { receiver.handle(std::move(message)); };

namespace detail {

class actor_cell;
struct message;

/// A message type seen from the runtime, without its type.
struct message_type {
  std::string_view name;
  /// Calls the handler and answers; uses the message up. The error of a handler that threw.
  std::unique_ptr<error> (*deliver)(message& self, actor& receiver, actor_cell& cell);
  /// Answers with the error; uses the message up.
  void (*refuse)(message& self, const error& reason) noexcept;
  /// Of one that was asked: if its answer is what `awaited` waits for, answers with the error, and
  /// whatever the handler will answer is lost. False: it is another's.
  bool (*give_up)(message& self, const future_state_base& awaited,
                  const error& why) noexcept = nullptr;
};

/// A node of a mailbox.
struct message {
  explicit message(const message_type& t) noexcept : type(&t) {}
  message(const message&) = delete;
  message& operator=(const message&) = delete;

  std::atomic<message*> next{nullptr};  ///< of the mailbox that holds it, which says its orders
  const message_type* type;
  std::int64_t bytes = 0;  ///< what it takes of the mailbox; 0: not counted, never refused as full
};

template <class T>
constexpr std::string_view name_of() noexcept {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view marker = "T = ";
  constexpr std::size_t begin = text.find(marker) + marker.size();
  constexpr std::size_t end = text.find_first_of(";]", begin);
  return text.substr(begin, end - begin);
}

template <class A, class M>
using handled = decltype(std::declval<A&>().handle(std::declval<M>()));

/// What an ask of M is answered with.
template <class A, class M>
using reply_of = typename flattened<handled<A, M>>::type;

/// A coroutine that a handler began; part of its actor until it ends.
struct turn_task {
  turn_task* previous = nullptr;
  turn_task* next = nullptr;
  /// Ends it without resuming it; answers with the error.
  void (*abandon)(turn_task& self, const error& reason) noexcept = nullptr;
};

TROUPE_EXPORT void adopt(actor_cell& cell, turn_task& begun) noexcept;
TROUPE_EXPORT void finish(actor_cell& cell, turn_task& ended,
                          std::unique_ptr<error> failed) noexcept;
TROUPE_EXPORT turn_home& home_of(actor_cell& cell) noexcept;
[[nodiscard]] TROUPE_EXPORT std::unique_ptr<error> current_failure() noexcept;

/// Runs a coroutine handler. Keeps its message, which the handler may have taken by reference.
template <class Envelope, class R>
struct handler_task final : turn_task {
  handler_task(Envelope& m, task<R> w, actor_cell& c) : kept(&m), work(std::move(w)), cell(&c) {
    abandon = &abandon_task;
    auto& promise = work.handle().promise();
    promise.home = &home_of(c);
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
};

/// A message on its way to an A, with room for the reply when it was asked.
template <class A, class M, bool Asked>
struct envelope final : message {
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
      } else if constexpr (!Asked) {
        (void)target.handle(std::move(me.body));
      } else if constexpr (is_future<returned>) {
        // In two steps: where the handler throws, there is still somebody to tell of it.
        auto later = target.handle(std::move(me.body));
        forward(std::move(later), std::move(me.sink));
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

/// What a message takes of a mailbox's byte limit: its `mailbox_bytes()` where it has one.
template <class M>
std::int64_t bytes_of(const M& body) noexcept {
  if constexpr (requires {
                  { body.mailbox_bytes() } -> std::convertible_to<std::int64_t>;
                }) {
    // At least 1: 0 marks what is not counted.
    const std::int64_t bytes = body.mailbox_bytes();
    return bytes > 1 ? bytes : 1;
  } else {
    return static_cast<std::int64_t>(sizeof(M));
  }
}

}  // namespace detail
}  // namespace troupe
