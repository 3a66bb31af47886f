#pragma once

#include <troupe/core/actor_ref.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace troupe {

/// A message to another actor in place of a reply; returned by `delegate`.
template <class A, class M>
class [[nodiscard]] delegated {
 public:
  delegated(actor_ref<A> to, M message) : to_(std::move(to)), message_(std::move(message)) {}

  // For the runtime: sends the message with the reply sink, sender and deadline of `from`.
  template <class Envelope>
  void send(Envelope& from, detail::actor_cell& cell) {
    auto* m = detail::make_pooled<detail::envelope<A, M, Envelope::asked>>(std::move(message_));
    m->bytes = detail::bytes_of(m->body);
    m->context = detail::take_context(cell);
    if constexpr (Envelope::asked) m->sink = std::move(from.sink);
    detail::post(to_.cell(), *m);
  }

 private:
  actor_ref<A> to_;
  M message_;
};

/// Returned by a handler to let `other` handle `message` in its place. The reply, or the error,
/// goes from `other` directly to the asker; this actor has no further part in it. `other` sees the
/// asker's deadline and the original sender.
template <class A, class M>
delegated<A, std::remove_cvref_t<M>> delegate(const actor_ref<A>& other, M&& message) {
  static_assert(handles<A, std::remove_cvref_t<M>>,
                "delegate: that actor has no handle() that accepts this message type");
  return {other, std::forward<M>(message)};
}

namespace detail {

template <class A, class M>
inline constexpr bool is_delegated<delegated<A, M>> = true;
template <class A, class M>
struct flattened<delegated<A, M>> {
  using type = reply_of<A, M>;
};

}  // namespace detail
}  // namespace troupe
