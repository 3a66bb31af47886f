#pragma once

#include <troupe/core/message.hpp>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

namespace troupe {

/// Unique in the process, never reused.
enum class actor_id : std::uint64_t {};

/// What a watcher receives when the watched actor has stopped.
struct terminated {
  actor_id id{};
  std::optional<error> reason;  ///< the failure that ended it; empty when it was told to stop
};

/// How long an ask waits for its reply.
struct ask_options {
  /// Then the reply is `errc::timed_out`; the request itself goes on. Zero: no limit. As of
  /// `future::timeout`.
  std::chrono::nanoseconds timeout{0};
  /// Then the reply is `errc::cancelled`; the request itself goes on.
  std::stop_token stop{};
};

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
/// Helps a thread that waits for the actor's reply.
[[nodiscard]] TROUPE_EXPORT completion_driver* driver_of(actor_cell& cell) noexcept;
[[nodiscard]] TROUPE_EXPORT std::shared_ptr<timer_service> timers_of(actor_cell& cell);
[[nodiscard]] TROUPE_EXPORT error cancelled_error();

template <class T>
future<T> limit(future<T> reply, const ask_options& options, actor_cell& cell);

}  // namespace detail

/// A typed reference: what its actor does not handle does not compile.
template <class A>
class actor_ref : public any_actor_ref {
 public:
  using any_actor_ref::any_actor_ref;

  /// Sends without expecting a reply. False: refused (full or stopped), told to the dead letters.
  template <class M>
  bool tell(M&& message) const noexcept {
    using body = std::remove_cvref_t<M>;
    static_assert(handles<A, body>,
                  "tell: this actor has no handle() that accepts this message type");
    auto* m = detail::make_pooled<detail::envelope<A, body, false>>(std::forward<M>(message));
    m->bytes = detail::bytes_of(m->body);
    return detail::post(cell(), *m);
  }

  /// Sends and returns the future reply; its type follows from `handle`. A handler that throws, a
  /// refused or dropped message and an actor that stops before it replies all answer an error.
  template <class M>
  auto ask(M&& message) const {
    using body = std::remove_cvref_t<M>;
    static_assert(handles<A, body>,
                  "ask: this actor has no handle() that accepts this message type");
    using envelope = detail::envelope<A, body, true>;
    using reply = typename envelope::reply;
    auto* m = detail::make_pooled<envelope>(std::forward<M>(message));
    m->bytes = detail::bytes_of(m->body);
    m->sink = promise<reply>(detail::driver_of(cell()));
    future<reply> answer = m->sink.get_future();
    detail::post(cell(), *m);
    return answer;
  }

  template <class M>
  auto ask(M&& message, const ask_options& options) const {
    return detail::limit(ask(std::forward<M>(message)), options, cell());
  }
};

template <class T>
future<T> detail::limit(future<T> reply, const ask_options& options, actor_cell& cell) {
  const bool timed = options.timeout > std::chrono::nanoseconds::zero();
  const bool stoppable = options.stop.stop_possible();
  if (!timed && !stoppable) return reply;
  promise<T> sink(reply.driver());
  future<T> limited = sink.get_future();
  auto* contest = make_pooled<race<T>>(std::move(sink));
  using entry = typename race<T>::entry;
  std::shared_ptr<timer_service> timers;
  timer_id alarm{};
  if (timed) {
    timers = timers_of(cell);
    alarm = contest->lose_after(*timers, options.timeout);
  }
  struct on_stop {
    entry e;
    void operator()() { e.lose_to(cancelled_error()); }
  };
  std::unique_ptr<std::stop_callback<on_stop>> stopping;
  if (stoppable) {
    stopping =
        std::make_unique<std::stop_callback<on_stop>>(options.stop, on_stop{entry(*contest)});
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
