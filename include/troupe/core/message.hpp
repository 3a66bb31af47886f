#pragma once

#include <troupe/core/task.hpp>

#include <atomic>
#include <chrono>
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

/// What its handler can learn of a message besides its body.
struct message_context {
  message_context() = default;
  message_context(const message_context&) = delete;
  message_context& operator=(const message_context&) = delete;
  TROUPE_EXPORT ~message_context();

  /// Until then whoever asked waits.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  actor_cell* sender = nullptr;  ///< holds a reference
};

/// A node of a mailbox.
struct message {
  explicit message(const message_type& t) noexcept : type(&t) {}
  message(const message&) = delete;
  message& operator=(const message&) = delete;

  std::atomic<message*> next{nullptr};  ///< of the mailbox that holds it, which says its orders
  const message_type* type;
  std::int64_t bytes = 0;  ///< what it takes of the mailbox; 0: not counted, never refused as full
  std::unique_ptr<message_context> context;  ///< of the few that have one
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
