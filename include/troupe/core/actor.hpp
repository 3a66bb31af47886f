#pragma once

#include <troupe/base/unique_function.hpp>
#include <troupe/core/actor_ref.hpp>
#include <troupe/core/actor_timer.hpp>
#include <troupe/core/delegate.hpp>
#include <troupe/core/spawn_options.hpp>
#include <troupe/core/supervision.hpp>

#include <chrono>
#include <tuple>
#include <typeinfo>

namespace troupe {

class system;

namespace detail {

using actor_factory = unique_function<std::unique_ptr<actor>()>;

/// The properties of an actor type that the runtime needs.
struct actor_traits {
  bool reentrant = false;
  const std::type_info* type = nullptr;
  bool is_reported_elsewhere = false;  ///< its failures are not logged as an actor's
};

template <class A>
constexpr actor_traits traits_of() {
  if constexpr (requires { A::reentrant; }) return {A::reentrant, &typeid(A)};
  return {.type = &typeid(A)};
}

TROUPE_EXPORT any_actor_ref spawn_child(actor_cell& parent, actor_factory make,
                                        spawn_options options, actor_traits traits);

/// A factory that constructs each incarnation from copies of the arguments.
template <class A, class... Args>
actor_factory factory_of(Args&&... args) {
  static_assert((std::is_copy_constructible_v<std::decay_t<Args>> && ...),
                "spawn: a restart needs the constructor arguments again, so they must be copyable; "
                "else use spawn_from() with a factory");
  static_assert(std::is_constructible_v<A, std::decay_t<Args>...>,
                "spawn: the actor cannot be constructed from these arguments");
  return [kept = std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)] {
    auto copies = kept;
    return std::apply(
        [](auto&... copy) -> std::unique_ptr<actor> {
          return std::make_unique<A>(std::move(copy)...);
        },
        copies);
  };
}

template <class A>
actor_ref<A> typed(const any_actor_ref& ref) noexcept {
  return actor_ref<A>(ref.cell());
}

TROUPE_EXPORT bool put_aside(actor_cell& cell, message& m) noexcept;
TROUPE_EXPORT void watch_with(actor_cell& watcher, actor_cell& watched,
                              unique_function<message*(const terminated&)> make);

}  // namespace detail

/// Base class of all actors. A handler is a public overload `handle(M)`. It returns the reply:
/// nothing, a value, a `result`, a `future` or a `task` (a coroutine). An actor handles one message
/// at a time. While a coroutine handler is suspended, the next message waits too, unless the actor
/// declares `static constexpr bool reentrant = true`. An exception from a handler is a failure that
/// the supervisor decides on.
///
/// Functions with a parameter `self` expect `this`, because C++20 cannot deduce the derived type.
class TROUPE_EXPORT actor {
 public:
  actor();
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;
  virtual ~actor();

 protected:
  /// Called in the actor's turn, before its first message; an exception is a failure.
  virtual void pre_start() {}
  /// Called before the last incarnation is destroyed.
  virtual void post_stop() noexcept {}
  /// Called on the old incarnation before a restart; by default `post_stop`.
  virtual void pre_restart(const error& reason) noexcept;
  /// Called on the new incarnation after a restart; by default `pre_start`.
  virtual void post_restart(const error& reason);
  /// How this actor supervises its children; called once per incarnation.
  [[nodiscard]] virtual troupe::supervision supervise() const { return {}; }

  [[nodiscard]] actor_id id() const noexcept;
  [[nodiscard]] troupe::system& system() const noexcept;

  // About the message being handled. A coroutine must call these before it first suspends.
  /// When the asker stops waiting for the reply, on the system's clock; `time_point::max()` if
  /// there is no limit. Pass it on with `other.ask(m, {.deadline = current_deadline()})`.
  [[nodiscard]] std::chrono::steady_clock::time_point current_deadline() const noexcept;
  /// The actor that sent the message. Valid only if this actor declares
  /// `static constexpr bool knows_sender = true` and the message was sent from an actor's turn.
  /// `current_sender().as<A>()` is the typed reference.
  [[nodiscard]] any_actor_ref current_sender() const noexcept;

  template <class Self>
  [[nodiscard]] static actor_ref<Self> reference(Self* self) noexcept {
    return actor_ref<Self>(*self->cell_);
  }

  /// Spawns a child. A child stops before its parent does.
  template <class A, class... Args>
  actor_ref<A> spawn(spawn_options options, Args&&... args) {
    return detail::typed<A>(detail::spawn_child(*cell_,
                                                detail::factory_of<A>(std::forward<Args>(args)...),
                                                std::move(options), detail::traits_of<A>()));
  }
  template <class A, class... Args>
  actor_ref<A> spawn(Args&&... args) {
    return spawn<A>(spawn_options{}, std::forward<Args>(args)...);
  }

  /// Stops this actor after the message that it is handling.
  void stop() noexcept;

  /// Sends `message` to this actor once, after `delay`.
  template <class Self, class M>
  timer after(Self* self, std::chrono::nanoseconds delay, M message) {
    return detail::begin_timer(self, *self->cell_, delay, std::chrono::nanoseconds::zero(),
                               std::move(message));
  }

  /// Sends this actor a copy of `message` every `period`. A tick is skipped if the previous one is
  /// still in the mailbox.
  template <class Self, class M>
  timer every(Self* self, std::chrono::nanoseconds period, M message) {
    static_assert(std::is_copy_constructible_v<M>, "every: each tick needs a copy of the message");
    return detail::begin_timer(self, *self->cell_, period, period, std::move(message));
  }

  /// Sends this actor a `terminated` when `other` has stopped; at once if it has stopped already.
  /// Watching an actor that is already watched has no effect, so a new incarnation may repeat it.
  template <class Self>
  void watch(Self* self, const any_actor_ref& other) {
    static_assert(handles<Self, terminated>, "watch: this actor has no handle(terminated)");
    detail::watch_with(*self->cell_, other.cell(), [](const terminated& t) -> detail::message* {
      return detail::make_pooled<detail::envelope<Self, terminated, false>>(t);
    });
  }
  /// After this call no `terminated` of `other` is handled.
  void unwatch(const any_actor_ref& other) noexcept;

  /// Sets a message aside until `unstash_all`. Return the future as the handler's reply; it fails
  /// with `errc::mailbox_full` if the stash is full.
  template <class Self, class M>
  auto stash(Self* self, M message) {
    using envelope = detail::envelope<Self, M, true>;
    auto* m = detail::make_pooled<envelope>(std::move(message));
    m->context = detail::take_context(*cell_);
    m->sink = promise<typename envelope::reply>();
    auto later = m->sink.get_future();
    detail::put_aside(*self->cell_, *m);
    return later;
  }
  /// Puts the stashed messages at the front of the mailbox, in their original order.
  void unstash_all() noexcept;

 private:
  friend class detail::actor_cell;

  detail::actor_cell* cell_;
};

}  // namespace troupe
