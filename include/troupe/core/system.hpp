#pragma once

#include <troupe/core/actor.hpp>
#include <troupe/core/actor_status.hpp>
#include <troupe/core/log.hpp>
#include <troupe/core/metrics_config.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

namespace detail {
class system_core;
}

class device;
class world;
struct device_config;
struct device_topology;
struct telemetry_snapshot;
struct world_config;

/// A message that could not be delivered.
struct dead_letter {
  std::string_view message;  ///< name of the message's type
  actor_id target{};
  std::string_view path;  ///< the target's; valid during the call
  errc reason{};          ///< `actor_stopped` or `mailbox_full`
};

/// A part of the system added by others, such as the devices. At shutdown services are stopped
/// after all actors, in reverse order of attachment.
class TROUPE_EXPORT system_service {
 public:
  virtual ~system_service();
  virtual void stop() noexcept = 0;
};

/// How a system runs its actors. The defaults suit most programs.
struct system_config {
  std::int32_t threads = 0;      ///< in the pool; 0: one per processor. Grows while all are blocked
  std::int32_t throughput = 64;  ///< messages an actor handles before it yields to other actors
  troupe::supervision supervision{};  ///< for top-level actors
  /// Decides about errors escalated to the root; here `escalate` means `stop`. Null means stop.
  directive (*on_escalation)(const error&) noexcept = nullptr;
  /// Receives each event of a device (`device_event`), and each failure that no decider of the
  /// program has handled: decisions of the default decider, actors stopped at the root, exhausted
  /// restart budgets. If empty, warnings and errors are printed to stderr. The system's end waits
  /// at most 5 s for a call about a device.
  log_hook log{};
  /// Which facts about requests its devices record.
  metrics_config metrics{};
  /// How long the destructor lets actors process the messages in their mailboxes.
  std::chrono::nanoseconds drain = std::chrono::seconds(5);
};

/// A tree of actors, the threads that run them, and their clock. Thread-safe.
class TROUPE_EXPORT system {
 public:
  /// Throws `failure` (`errc::system_error`) if its threads cannot be started.
  explicit system(system_config config = {});
  system(const system&) = delete;
  system& operator=(const system&) = delete;
  /// Shuts down and waits for running handlers.
  ~system();

  /// Spawns a top-level actor. It is constructed in its first turn, and at each restart again from
  /// copies of the arguments. After `shutdown` the reference is to a stopped actor.
  template <class A, class... Args>
  actor_ref<A> spawn(spawn_options options, Args&&... args) {
    return spawn_made<A>(std::move(options), detail::factory_of<A>(std::forward<Args>(args)...));
  }
  template <class A, class... Args>
  actor_ref<A> spawn(Args&&... args) {
    return spawn<A>(spawn_options{}, std::forward<Args>(args)...);
  }

  /// The same, but calls `make` for each incarnation; it returns a `std::unique_ptr<A>`.
  template <class A, class Factory>
  actor_ref<A> spawn_from(Factory make, spawn_options options = {}) {
    return spawn_made<A>(
        std::move(options),
        [make = std::move(make)]() mutable -> std::unique_ptr<actor> { return make(); });
  }

  /// Shuts down gracefully: every actor handles the messages in its mailbox, sends its replies, and
  /// goes on with new messages meanwhile. Then all actors stop, children before parents, each when
  /// its mailbox is empty. When `timeout` expires, the rest is stopped, and the future fails with
  /// `errc::timed_out` and the number of messages lost. May be called repeatedly, from any thread.
  future<void> shutdown(std::chrono::nanoseconds timeout = std::chrono::seconds(5));

  /// Calls `subscriber` for each dead letter, on the thread that found it. Exceptions are ignored.
  /// Dead letters caused by a subscriber, for example by telling a stopped actor, are only counted.
  /// Throws `failure` (`errc::invalid_argument`) if `subscriber` is empty.
  void on_dead_letter(unique_function<void(const dead_letter&)> subscriber);
  [[nodiscard]] std::uint64_t dead_letter_count() const noexcept;

  /// All actors that have not stopped, parents before their children.
  [[nodiscard]] std::vector<actor_status> actors() const;

  /// Registers the actor under a name until it stops. \errors `invalid_argument` if the name is
  /// empty or another actor's; `actor_stopped`
  result<void> register_as(std::string name, const any_actor_ref& actor);
  /// The actor with this name. \errors `invalid_argument` if there is none, or it is of another
  /// type
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
  /// Removes a name. False if no actor had it.
  bool forget(std::string_view name);

  /// The service with this key; if there is none, calls `make` and attaches the result. Null once
  /// the system has begun to stop its services.
  std::shared_ptr<system_service> service(std::string_view key,
                                          unique_function<std::shared_ptr<system_service>()> make);

  [[nodiscard]] std::shared_ptr<timer_service> timers() const;

  /// The configured log hook, for parts of the program that log the same way (`write_log`).
  [[nodiscard]] const log_hook& log() const noexcept;

  /// The device with this number, even if it has stopped (`device::restart`). If there is none, one
  /// is made with the default configuration. Include `troupe/device/device.hpp` to use it. Returns
  /// at once and starts the device in the background; if the start fails, every request fails with
  /// that error. Throws `failure`: `invalid_argument`; `device_unavailable` or `library_missing` if
  /// a GPU is requested and it, or its plugin, does not exist; `worker_not_found` in a worker
  /// process whose program has not called `worker_entry`; `out_of_memory`; `system_error` (no
  /// descriptors left); `device_stopped` after the system has shut down.
  [[nodiscard]] troupe::device device(std::int32_t ordinal = 0);
  /// Makes the device with this configuration. It replaces a stopped device, which can then no
  /// longer be restarted. Throws `failure` as above, and with `invalid_argument` if a device with
  /// this number is running, or has given up while tensors are in its memory.
  [[nodiscard]] troupe::device device(std::int32_t ordinal, const device_config& config);

  /// The events of all devices (`device::events`), in the order of time: the last 1024 of each,
  /// without those of devices that others have replaced; nothing once the system has shut down.
  /// Include `troupe/device/events.hpp` to use them.
  [[nodiscard]] std::vector<device_event> events() const;

  /// The counts, states and times of the devices and actors at this moment; no devices once the
  /// system has shut down. Include `troupe/telemetry/snapshot.hpp` to use it.
  [[nodiscard]] telemetry_snapshot snapshot() const;

  /// Several devices of this system as one, each a rank by its place in the list; include
  /// `troupe/device/world.hpp` to use it. Throws `failure`: `invalid_argument` for no device, a
  /// device twice, or one of another system; `unsupported` for GPUs, for devices in threads of the
  /// program, and for more than 64 devices; `out_of_memory`; `device_stopped` after the system has
  /// shut down.
  [[nodiscard]] troupe::world world(const std::vector<troupe::device>& devices);
  [[nodiscard]] troupe::world world(const std::vector<troupe::device>& devices,
                                    const world_config& config);

  /// How the devices made so far reach each other's memory; include `troupe/device/topology.hpp` to
  /// use it. Throws `failure`: `device_stopped` after the system has shut down.
  [[nodiscard]] device_topology topology();

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
