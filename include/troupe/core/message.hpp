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

/// The messages that `actor_ref<A>::tell` and `ask` accept.
template <class A, class M>
concept handles = requires(A& receiver, M message) { receiver.handle(std::move(message)); };

namespace detail {

class actor_cell;
struct message;

/// A message type as the runtime sees it, without the C++ type.
struct message_type {
  std::string_view name;
  /// Calls the handler and answers; consumes the message. Returns the error if the handler threw.
  std::unique_ptr<error> (*deliver)(message& self, actor& receiver, actor_cell& cell);
  /// Answers with the error; consumes the message.
  void (*refuse)(message& self, const error& reason) noexcept;
  /// For an asked message. If `awaited` waits for this message's reply, answers with the error and
  /// returns true; a later reply of the handler is discarded. False if `awaited` waits for another.
  bool (*give_up)(message& self, const future_state_base& awaited,
                  const error& why) noexcept = nullptr;
};

/// The properties of a message besides its body, for its handler.
struct message_context {
  message_context() = default;
  message_context(const message_context&) = delete;
  message_context& operator=(const message_context&) = delete;
  TROUPE_EXPORT ~message_context();

  /// When the asker stops waiting.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  actor_cell* sender = nullptr;  ///< holds a reference
};

/// A node of a mailbox.
struct message {
  explicit message(const message_type& t) noexcept : type(&t) {}
  message(const message&) = delete;
  message& operator=(const message&) = delete;

  std::atomic<message*> next{nullptr};  ///< for the mailbox, which documents the memory orders
  const message_type* type;
  std::int64_t bytes = 0;  ///< its share of the byte limit; 0: not counted, never refused as full
  std::unique_ptr<message_context> context;  ///< null for most messages
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

/// The type of the reply to a message M.
template <class A, class M>
using reply_of = typename flattened<handled<A, M>>::type;

/// A message's share of a mailbox's byte limit: `mailbox_bytes()` if it has one, else its size.
template <class M>
std::int64_t bytes_of(const M& body) noexcept {
  if constexpr (requires {
                  { body.mailbox_bytes() } -> std::convertible_to<std::int64_t>;
                }) {
    // At least 1: 0 marks messages that are not counted.
    const std::int64_t bytes = body.mailbox_bytes();
    return bytes > 1 ? bytes : 1;
  } else {
    return static_cast<std::int64_t>(sizeof(M));
  }
}

}  // namespace detail
}  // namespace troupe
