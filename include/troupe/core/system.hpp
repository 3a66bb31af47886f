#pragma once

#include <troupe/core/actor.hpp>
#include <troupe/core/actor_status.hpp>
#include <troupe/core/log.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

namespace detail {
class system_core;
}

class device;
struct device_config;

/// A message that could not be delivered.
struct dead_letter {
  std::string_view message;  ///< name of the message's type
  actor_id target{};
  std::string_view path;  ///< of the target; valid during the call
  errc reason{};          ///< `actor_stopped` or `mailbox_full`
};

/// A part of the system that others add (devices). Stopped at shutdown after all actors, the last
/// attached first.
class TROUPE_EXPORT system_service {
 public:
  virtual ~system_service();
  virtual void stop() noexcept = 0;
};

/// How a system runs its actors. The defaults are meant to be right.
struct system_config {
  std::int32_t threads = 0;  ///< of the pool; 0: one per processor; more while all of them sleep
  std::int32_t throughput = 64;  ///< messages that an actor handles before others get their turn
  troupe::supervision supervision{};  ///< of the actors spawned by the system itself
  /// Decides on what was escalated to the root; `escalate` is taken as `stop`.
  directive (*on_escalation)(const error&) noexcept = nullptr;
  /// Told of each failure that no decider of the program's own has dealt with: what the default
  /// decided, what was stopped at the root, what has spent its restarts. Empty: stderr.
  log_hook log{};
  /// How long the destructor lets actors handle what their mailboxes hold.
  std::chrono::nanoseconds drain = std::chrono::seconds(5);
};

/// A tree of actors, the threads that run them, and their clock. Any thread may use it.
class TROUPE_EXPORT system {
 public:
  /// Throws `failure` (`errc::system_error`) where its threads cannot be started.
  explicit system(system_config config = {});
  system(const system&) = delete;
  system& operator=(const system&) = delete;
  /// Shuts down; waits for handlers that are running.
  ~system();

  /// Spawns an actor at the top of the tree. It is constructed in its first turn, and again from
  /// copies of the arguments at each restart. After `shutdown` the reference is of a stopped actor.
  template <class A, class... Args>
  actor_ref<A> spawn(spawn_options options, Args&&... args) {
    return spawn_made<A>(std::move(options), detail::factory_of<A>(std::forward<Args>(args)...));
  }
  template <class A, class... Args>
  actor_ref<A> spawn(Args&&... args) {
    return spawn<A>(spawn_options{}, std::forward<Args>(args)...);
  }

  /// The same with a factory for each incarnation, which returns a `std::unique_ptr<A>`.
  template <class A, class Factory>
  actor_ref<A> spawn_from(Factory make, spawn_options options = {}) {
    return spawn_made<A>(
        std::move(options),
        [make = std::move(make)]() mutable -> std::unique_ptr<actor> { return make(); });
  }

  /// Lets every actor handle what its mailbox holds and reply to all of it, while it goes on with
  /// what comes meanwhile; then stops all, children before parents, each when its mailbox is empty.
  /// What is not done after `patience` is stopped, and the future fails with `errc::timed_out`,
  /// which says how much that was. May be called again, from anywhere.
  future<void> shutdown(std::chrono::nanoseconds patience = std::chrono::seconds(5));

  /// Calls `subscriber` for each dead letter, on the thread that found it. What it throws is lost.
  /// Dead letters that a subscriber brings about, as one does that tells a stopped actor, are only
  /// counted. Throws `failure` (`errc::invalid_argument`) where it is empty.
  void on_dead_letter(unique_function<void(const dead_letter&)> subscriber);
  [[nodiscard]] std::uint64_t dead_letter_count() const noexcept;

  /// All actors that have not stopped, a parent before its children.
  [[nodiscard]] std::vector<actor_status> actors() const;

  /// Makes the actor known by a name until it stops. `errc::invalid_argument`: the name is empty,
  /// or another actor's; `errc::actor_stopped`.
  result<void> register_as(std::string name, const any_actor_ref& actor);
  /// The actor of that name. `errc::invalid_argument`: there is none, or it is of another type.
  template <class A>
  [[nodiscard]] result<actor_ref<A>> find(std::string_view name) const {
    result<any_actor_ref> found = find_any(name);
    if (!found) return std::move(found).error();
    if (actor_ref<A> typed = found->template as<A>(); typed.valid()) return typed;
    return error{
        .code = errc::invalid_argument,
        .message = "find: " + found->path() + " is not a " + std::string(detail::name_of<A>())};
  }
  [[nodiscard]] result<any_actor_ref> find_any(std::string_view name) const;
  /// False: no actor had that name.
  bool forget(std::string_view name);

  /// The service with this key; made and attached if there is none. Null once services end with the
  /// system.
  std::shared_ptr<system_service> service(std::string_view key,
                                          unique_function<std::shared_ptr<system_service>()> make);

  [[nodiscard]] std::shared_ptr<timer_service> timers() const;

  /// The hook of its configuration, for parts of the program that report as it does (`write_log`).
  [[nodiscard]] const log_hook& log() const noexcept;

  /// The device with this number, also where it has stopped (`device::restart`); made with the
  /// defaults if there is none. Include `troupe/device/device.hpp` to use it. Returns at once; the
  /// device starts meanwhile, and a start that fails is the answer of every request. Throws
  /// `failure`: `invalid_argument`; `device_unavailable` or `library_missing` where a GPU is asked
  /// for and it, or the plugin for it, is not there; `worker_not_found` in a worker whose program
  /// has not called `worker_entry`; `out_of_memory`; `system_error` (no descriptors left);
  /// `device_stopped` once the system has shut down.
  [[nodiscard]] troupe::device device(std::int32_t ordinal = 0);
  /// Makes it as `config` says, in the place of one that has stopped, which then cannot be
  /// restarted any more. Throws `failure` as above, and with `invalid_argument` when one runs
  /// already, or has given up while tensors are in its memory.
  [[nodiscard]] troupe::device device(std::int32_t ordinal, const device_config& config);

  // For the runtime and the test kit.
  explicit system(std::shared_ptr<detail::system_core> core) noexcept;
  [[nodiscard]] detail::system_core& core() const noexcept { return *core_; }

 private:
  template <class A>
  actor_ref<A> spawn_made(spawn_options options, detail::actor_factory make) {
    return detail::typed<A>(
        detail::spawn_child(root(), std::move(make), std::move(options), detail::traits_of<A>()));
  }
  [[nodiscard]] detail::actor_cell& root() const noexcept;

  std::shared_ptr<detail::system_core> core_;
};

}  // namespace troupe
