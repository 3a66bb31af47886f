#pragma once

#include <troupe/core/envelope.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <typeinfo>

namespace troupe {

/// Unique within the process and never reused.
enum class actor_id : std::uint64_t {};

/// The message to a watcher when the watched actor has stopped.
struct terminated {
  actor_id id{};
  /// The failure that ended it, with its `cause` if there is one; empty if it was told to stop.
  std::optional<error> reason;
};

/// How long an ask waits for its reply. The handler sees the limit in `actor::current_deadline`.
struct ask_options {
  /// When this time has passed, the reply is `errc::timed_out`, as with `future::timeout`; the
  /// handler is not interrupted. Zero means no limit.
  std::chrono::nanoseconds timeout{0};
  /// When a stop is requested, the reply is `errc::cancelled`; the handler is not interrupted.
  std::stop_token stop{};
  /// Like `timeout`, but a time point of the system's clock, for a handler that passes on its
  /// asker's deadline.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

template <class A>
class actor_ref;

/// An untyped reference to an actor. Copies refer to the same actor. The address stays valid across
/// restarts and after the actor has stopped; messages to a stopped actor become dead letters.
class TROUPE_EXPORT any_actor_ref {
 public:
  any_actor_ref() = default;
  any_actor_ref(const any_actor_ref& other) noexcept;
  any_actor_ref(any_actor_ref&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  any_actor_ref& operator=(any_actor_ref other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~any_actor_ref() {
    if (cell_ != nullptr) release();
  }

  /// False if default-constructed or moved from. All other functions need a valid reference.
  [[nodiscard]] bool valid() const noexcept { return cell_ != nullptr; }
  [[nodiscard]] actor_id id() const noexcept;
  /// The path in the actor tree, such as "/orders/3".
  [[nodiscard]] std::string path() const;
  [[nodiscard]] bool stopped() const noexcept;
  /// Approximate number of unfinished messages: in the mailbox, in the handler, or handled with the
  /// reply still pending.
  [[nodiscard]] std::int64_t load() const noexcept;
  /// A typed reference; invalid unless the actor is of exactly type `A` (a base does not match).
  template <class A>
  [[nodiscard]] actor_ref<A> as() const noexcept;

  /// Stops it after the message that it is handling. Messages in its mailbox are not handled.
  void stop() const noexcept;
  /// Stops it once it has handled the messages now in its mailbox.
  void stop_after_mailbox() const noexcept;

  /// Ready when the actor has stopped.
  [[nodiscard]] future<terminated> when_terminated() const;

  friend bool operator==(const any_actor_ref& a, const any_actor_ref& b) noexcept {
    return a.cell_ == b.cell_;
  }

  // For the runtime.
  explicit any_actor_ref(detail::actor_cell& cell) noexcept;  ///< adds a reference
  [[nodiscard]] detail::actor_cell& cell() const noexcept { return *cell_; }

 private:
  void release() noexcept;
  detail::actor_cell* cell_ = nullptr;
};

namespace detail {

/// Puts the message into the mailbox. If that fails, answers the message with the error and returns
/// false.
TROUPE_EXPORT bool post(actor_cell& cell, message& m) noexcept;
/// Puts the message into the mailbox once there is room, then completes `placed`.
TROUPE_EXPORT void post_when_possible(actor_cell& cell, message& m, promise<void> placed);
/// Records the actor whose turn sends the message, if there is one.
TROUPE_EXPORT void note_sender(message& m);
TROUPE_EXPORT void note_deadline_of(message& m, std::chrono::steady_clock::time_point deadline);
inline void note_deadline(message& m, std::chrono::steady_clock::time_point deadline) {
  if (deadline != std::chrono::steady_clock::time_point::max()) note_deadline_of(m, deadline);
}
[[nodiscard]] TROUPE_EXPORT bool is_of_type(const actor_cell& cell,
                                            const std::type_info& type) noexcept;
/// The driver for a thread that waits for the actor's reply.
[[nodiscard]] TROUPE_EXPORT completion_driver* driver_of(actor_cell& cell) noexcept;
[[nodiscard]] TROUPE_EXPORT std::shared_ptr<timer_service> timers_of(actor_cell& cell);
[[nodiscard]] TROUPE_EXPORT error cancelled_error();

/// When an ask ends, as a duration from now and as a time point; both are `max()` if it has no
/// limit.
struct ask_limit {
  std::chrono::nanoseconds timeout;
  std::chrono::steady_clock::time_point deadline;
};
[[nodiscard]] TROUPE_EXPORT ask_limit limit_of(const ask_options& options, actor_cell& cell);

template <class T>
future<T> limit(future<T> reply, std::chrono::nanoseconds timeout, std::stop_token stop,
                actor_cell& cell);

/// Wraps the message for an actor of type `A`.
template <class A, bool Asked, class M>
auto* enclose(M&& message) {
  using body = std::remove_cvref_t<M>;
  static_assert(handles<A, body>, "this actor has no handle() that accepts this message type");
  auto* m = make_pooled<envelope<A, body, Asked>>(std::forward<M>(message));
  m->bytes = bytes_of(m->body);
  if constexpr (requires { A::knows_sender; }) note_sender(*m);
  return m;
}

}  // namespace detail

/// A typed reference. Sending a message that the actor does not handle does not compile.
template <class A>
class actor_ref : public any_actor_ref {
 public:
  using any_actor_ref::any_actor_ref;

  /// Sends a message without a reply. False if it was refused (mailbox full or actor stopped); it
  /// then becomes a dead letter. If copying the message throws, nothing is sent.
  template <class M>
  bool tell(M&& message) const {
    return detail::post(cell(), *detail::enclose<A, false>(std::forward<M>(message)));
  }

  /// Like `tell`, but never blocks, whatever the mailbox's overflow policy. The future is ready
  /// when the message is in the mailbox. It fails with `errc::mailbox_full` if the message can
  /// never fit, and with `errc::actor_stopped`. Messages sent before it is ready may overtake this
  /// one.
  template <class M>
  future<void> send(M&& message) const {
    promise<void> placed;
    future<void> done = placed.get_future();
    detail::post_when_possible(cell(), *detail::enclose<A, false>(std::forward<M>(message)),
                               std::move(placed));
    return done;
  }

  /// Sends a message and returns its future reply; the type follows from `handle`. If the handler
  /// throws, the message is refused or dropped, or the actor stops before it replies, the future
  /// holds an error.
  template <class M>
  auto ask(M&& message) const {
    return ask_before(std::forward<M>(message), std::chrono::steady_clock::time_point::max());
  }

  template <class M>
  auto ask(M&& message, const ask_options& options) const {
    const detail::ask_limit limit = detail::limit_of(options, cell());
    auto reply = ask_before(std::forward<M>(message), limit.deadline);
    return detail::limit(std::move(reply), limit.timeout, options.stop, cell());
  }

 private:
  template <class M>
  auto ask_before(M&& message, std::chrono::steady_clock::time_point deadline) const {
    auto* m = detail::enclose<A, true>(std::forward<M>(message));
    detail::note_deadline(*m, deadline);
    m->sink = promise<detail::reply_of<A, std::remove_cvref_t<M>>>(detail::driver_of(cell()));
    auto answer = m->sink.get_future();
    detail::post(cell(), *m);
    return answer;
  }
};

template <class A>
actor_ref<A> any_actor_ref::as() const noexcept {
  return valid() && detail::is_of_type(*cell_, typeid(A)) ? actor_ref<A>(*cell_) : actor_ref<A>();
}

template <class T>
future<T> detail::limit(future<T> reply, std::chrono::nanoseconds timeout, std::stop_token stop,
                        actor_cell& cell) {
  const bool timed = timeout != std::chrono::nanoseconds::max();
  const bool stoppable = stop.stop_possible();
  if (!timed && !stoppable) return reply;
  promise<T> sink(reply.driver());
  future<T> limited = sink.get_future();
  auto* contest = make_pooled<race<T>>(std::move(sink));
  using entry = typename race<T>::entry;
  std::shared_ptr<timer_service> timers;
  timer_id alarm{};
  if (timed) {
    timers = timers_of(cell);
    alarm = contest->lose_after(*timers, timeout);
  }
  struct on_stop {
    entry e;
    void operator()() { e.lose_to(cancelled_error()); }
  };
  std::unique_ptr<std::stop_callback<on_stop>> stopping;
  if (stoppable) {
    stopping =
        std::make_unique<std::stop_callback<on_stop>>(std::move(stop), on_stop{entry(*contest)});
  }
  contest->call_off = [timers = std::move(timers), alarm,
                       stopping = std::move(stopping)]() mutable {
    if (timers) timers->cancel(alarm);
    stopping.reset();
  };
  reply.release_state().continue_with(*contest);
  return limited;
}

}  // namespace troupe
