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

/// What the runtime must know of an actor type.
struct actor_traits {
  bool reentrant = false;
  const std::type_info* type = nullptr;
};

template <class A>
constexpr actor_traits traits_of() {
  if constexpr (requires { A::reentrant; }) return {A::reentrant, &typeid(A)};
  return {false, &typeid(A)};
}

TROUPE_EXPORT any_actor_ref spawn_child(actor_cell& parent, actor_factory make,
                                        spawn_options options, actor_traits traits);

/// A factory that makes each incarnation from copies of the arguments.
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

/// Base of all actors. Handlers are public overloads `handle(M)`; they return the reply: nothing, a
/// value, a `result`, a `future` or a `task` (a coroutine). One message is handled at a time; while
/// a coroutine handler waits, the next message waits too, unless the actor declares
/// `static constexpr bool reentrant = true`. A handler's exception is a failure for the supervisor.
///
/// Functions that take `self` want `this`: C++20 cannot deduce the derived type otherwise.
class TROUPE_EXPORT actor {
 public:
  actor();
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;
  virtual ~actor();

 protected:
  /// Called in the actor's turn, before its first message; a throw is a failure.
  virtual void pre_start() {}
  /// Called before the last incarnation is destroyed.
  virtual void post_stop() noexcept {}
  /// Called on the old incarnation before a restart; by default `post_stop`.
  virtual void pre_restart(const error& reason) noexcept;
  /// Called on the new incarnation after a restart; by default `pre_start`.
  virtual void post_restart(const error& reason);
  /// How this actor looks after its children; asked once per incarnation.
  [[nodiscard]] virtual troupe::supervision supervise() const { return {}; }

  [[nodiscard]] actor_id id() const noexcept;
  [[nodiscard]] troupe::system& system() const noexcept;

  // Of the message that is being handled; a coroutine asks before it first waits.
  /// Until then whoever asked waits for the answer, by the system's clock; `time_point::max()`
  /// where there is no limit. To be handed on: `other.ask(m, {.deadline = current_deadline()})`.
  [[nodiscard]] std::chrono::steady_clock::time_point current_deadline() const noexcept;
  /// The actor that sent it, if this actor declares `static constexpr bool knows_sender = true` and
  /// an actor's turn sent it; else invalid. `current_sender().as<A>()` is the reference by its
  /// type.
  [[nodiscard]] any_actor_ref current_sender() const noexcept;

  template <class Self>
  [[nodiscard]] static actor_ref<Self> reference(Self* self) noexcept {
    return actor_ref<Self>(*self->cell_);
  }

  /// Spawns a child, which stops before this actor does.
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

  /// Stops this actor after the message it is handling.
  void stop() noexcept;

  /// Tells this actor `message` once, `delay` from now.
  template <class Self, class M>
  timer after(Self* self, std::chrono::nanoseconds delay, M message) {
    return detail::begin_timer(self, *self->cell_, delay, std::chrono::nanoseconds::zero(),
                               std::move(message));
  }

  /// Tells this actor a copy of `message` every `period`. A tick is skipped while the one before
  /// is still in the mailbox.
  template <class Self, class M>
  timer every(Self* self, std::chrono::nanoseconds period, M message) {
    static_assert(std::is_copy_constructible_v<M>, "every: each tick needs a copy of the message");
    return detail::begin_timer(self, *self->cell_, period, period, std::move(message));
  }

  /// Sends this actor a `terminated` when the other has stopped; at once if it has. To watch it
  /// again before that, as a new incarnation does when it starts, changes nothing.
  template <class Self>
  void watch(Self* self, const any_actor_ref& other) {
    static_assert(handles<Self, terminated>, "watch: this actor has no handle(terminated)");
    detail::watch_with(*self->cell_, other.cell(), [](const terminated& t) -> detail::message* {
      return detail::make_pooled<detail::envelope<Self, terminated, false>>(t);
    });
  }
  /// After this no `terminated` of the other is handled.
  void unwatch(const any_actor_ref& other) noexcept;

  /// Puts a message aside until `unstash_all`. Return the future as the handler's reply; it fails
  /// with `errc::mailbox_full` when the stash is full.
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
  /// Puts what was stashed before everything else in the mailbox, in its old order.
  void unstash_all() noexcept;

 private:
  friend class detail::actor_cell;

  detail::actor_cell* cell_;
};

}  // namespace troupe
