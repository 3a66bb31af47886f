#pragma once

#include <troupe/core/actor_ref.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace troupe {

/// A message to another actor in place of an answer; what `delegate` returns.
template <class A, class M>
class [[nodiscard]] delegated {
 public:
  delegated(actor_ref<A> to, M message) : to_(std::move(to)), message_(std::move(message)) {}

  // For the runtime: `from` was asked, or told; with its sender and its deadline.
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

/// What a handler returns to have `other` handle `message` in its place: the reply goes from there
/// straight to whoever asked, an error as well, and this actor is done with it. The other one
/// learns the asker's deadline and the first sender.
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
