#pragma once

#include <troupe/core/envelope.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <typeinfo>

namespace troupe {

/// Unique in the process, never reused.
enum class actor_id : std::uint64_t {};

/// What a watcher receives when the watched actor has stopped.
struct terminated {
  actor_id id{};
  /// The failure that ended it, with its `cause` where it has one; empty when it was told to stop.
  std::optional<error> reason;
};

/// How long an ask waits for its reply. The handler learns until when: `actor::current_deadline`.
struct ask_options {
  /// Then the reply is `errc::timed_out`; the request itself goes on. Zero: no limit. As of
  /// `future::timeout`.
  std::chrono::nanoseconds timeout{0};
  /// Then the reply is `errc::cancelled`; the request itself goes on.
  std::stop_token stop{};
  /// The same as a moment of the system's clock, for a handler that asks on behalf of its asker.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

template <class A>
class actor_ref;

/// A reference to an actor, whatever its type. Copies refer to the same actor. The address
/// outlives restarts, and the actor: messages to one that has stopped are dead letters.
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

  /// False when default-constructed or moved from. All else needs a valid reference.
  [[nodiscard]] bool valid() const noexcept { return cell_ != nullptr; }
  [[nodiscard]] actor_id id() const noexcept;
  /// The path in the tree of actors, such as "/orders/3".
  [[nodiscard]] std::string path() const;
  [[nodiscard]] bool stopped() const noexcept;
  /// About how many messages it has not finished: in its mailbox, in its handler, and those whose
  /// reply is still to come.
  [[nodiscard]] std::int64_t load() const noexcept;
  /// The reference by its type; invalid where it is another type's. Of its exact type: no base.
  template <class A>
  [[nodiscard]] actor_ref<A> as() const noexcept;

  /// Stops it after the message it is handling. What waits in its mailbox is not handled.
  void stop() const noexcept;
  /// Stops it once it has handled what its mailbox holds now.
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

/// Puts the message into the mailbox, or answers it with the reason why not; then false.
TROUPE_EXPORT bool post(actor_cell& cell, message& m) noexcept;
/// Puts it in once there is a place, and says so.
TROUPE_EXPORT void post_when_room(actor_cell& cell, message& m, promise<void> placed);
/// Notes which actor's turn sends it, if any.
TROUPE_EXPORT void note_sender(message& m);
TROUPE_EXPORT void note_deadline_of(message& m, std::chrono::steady_clock::time_point deadline);
inline void note_deadline(message& m, std::chrono::steady_clock::time_point deadline) {
  if (deadline != std::chrono::steady_clock::time_point::max()) note_deadline_of(m, deadline);
}
[[nodiscard]] TROUPE_EXPORT bool is_of_type(const actor_cell& cell,
                                            const std::type_info& type) noexcept;
/// Helps a thread that waits for the actor's reply.
[[nodiscard]] TROUPE_EXPORT completion_driver* driver_of(actor_cell& cell) noexcept;
[[nodiscard]] TROUPE_EXPORT std::shared_ptr<timer_service> timers_of(actor_cell& cell);
[[nodiscard]] TROUPE_EXPORT error cancelled_error();

/// When an ask ends, from now and by the system's clock; the greatest values where it does not.
struct ask_limit {
  std::chrono::nanoseconds patience;
  std::chrono::steady_clock::time_point deadline;
};
[[nodiscard]] TROUPE_EXPORT ask_limit limit_of(const ask_options& options, actor_cell& cell);

template <class T>
future<T> limit(future<T> reply, std::chrono::nanoseconds patience, std::stop_token stop,
                actor_cell& cell);

/// The message on its way to an A.
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

/// A typed reference: what its actor does not handle does not compile.
template <class A>
class actor_ref : public any_actor_ref {
 public:
  using any_actor_ref::any_actor_ref;

  /// Sends without expecting a reply. False: refused (full or stopped), told to the dead letters.
  /// Throws what copying the message throws; then nothing is sent.
  template <class M>
  bool tell(M&& message) const {
    return detail::post(cell(), *detail::enclose<A, false>(std::forward<M>(message)));
  }

  /// The same, but never waits for room, whatever the mailbox does when it is full: the future is
  /// ready when the message has its place. `errc::mailbox_full` where it could never fit,
  /// `errc::actor_stopped`. Messages that are sent before it is ready may overtake this one.
  template <class M>
  future<void> send(M&& message) const {
    promise<void> placed;
    future<void> done = placed.get_future();
    detail::post_when_room(cell(), *detail::enclose<A, false>(std::forward<M>(message)),
                           std::move(placed));
    return done;
  }

  /// Sends and returns the future reply; its type follows from `handle`. A handler that throws, a
  /// refused or dropped message and an actor that stops before it replies all answer an error.
  template <class M>
  auto ask(M&& message) const {
    return ask_before(std::forward<M>(message), std::chrono::steady_clock::time_point::max());
  }

  template <class M>
  auto ask(M&& message, const ask_options& options) const {
    const detail::ask_limit limit = detail::limit_of(options, cell());
    auto reply = ask_before(std::forward<M>(message), limit.deadline);
    return detail::limit(std::move(reply), limit.patience, options.stop, cell());
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
future<T> detail::limit(future<T> reply, std::chrono::nanoseconds patience, std::stop_token stop,
                        actor_cell& cell) {
  const bool timed = patience != std::chrono::nanoseconds::max();
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
    alarm = contest->lose_after(*timers, patience);
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
