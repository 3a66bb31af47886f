#pragma once

#include "core/actor/actor_cell.hpp"
#include "core/actor/registry.hpp"
#include "core/dispatch/turn_dispatcher.hpp"
#include "os/fork_count.hpp"

#include <troupe/core/system.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace troupe::detail {

class pinned_dispatcher;

/// The shared state of all actors of a system. Owned by the system and by every cell; its threads
/// end with the system.
class system_core final : public std::enable_shared_from_this<system_core> {
 public:
  system_core(system_config config, std::shared_ptr<timer_service> timers,
              std::shared_ptr<turn_dispatcher> pool);

  /// Spawns the root. Once, before anything else.
  void open();
  /// Waits until the root has stopped, then ends the threads. Precondition: `!has_this_thread()`.
  void close() noexcept;
  /// The same on a new thread: for a thread of the system, which would wait for itself.
  static void close_elsewhere(std::shared_ptr<system_core> core) noexcept;
  /// True on its threads, and on a thread that helps with a turn of an actor.
  [[nodiscard]] bool has_this_thread() noexcept;
  /// Stops the actors that `shutdown` lets drain, and ends waits for mailbox capacity.
  void force_stop() noexcept;
  [[nodiscard]] bool is_forced() const noexcept {
    return is_forced_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] const system_config& config() const noexcept { return config_; }
  [[nodiscard]] const std::shared_ptr<timer_service>& timers() const noexcept { return timers_; }
  [[nodiscard]] actor_cell& root() const noexcept { return root_.cell(); }
  [[nodiscard]] turn_dispatcher& pool() const noexcept { return *pool_; }
  /// True in a process forked from the one that made the system: its threads do not exist here.
  [[nodiscard]] bool is_copy() const noexcept { return made_in_ != os::fork_count(); }
  [[nodiscard]] troupe::system* owner() const noexcept { return owner_; }
  void set_owner(troupe::system* owner) noexcept { owner_ = owner; }

  /// The pool, or a new thread of the actor's own.
  std::shared_ptr<turn_dispatcher> dispatcher_for(const spawn_options& options);

  future<void> shutdown(std::chrono::nanoseconds timeout, completion_driver* driver);
  void settled() noexcept;
  void root_stopped() noexcept;
  [[nodiscard]] std::vector<actor_status> actors() const;
  [[nodiscard]] registry& names() const noexcept { return *names_; }

  void dead(std::string_view message, const actor_cell& target, errc reason) noexcept;
  void on_dead_letter(unique_function<void(const dead_letter&)> subscriber);
  [[nodiscard]] std::uint64_t dead_letter_count() const noexcept { return dead_letters_.load(); }

  std::shared_ptr<system_service> service(std::string_view key,
                                          unique_function<std::shared_ptr<system_service>()> make);

  /// In [-1, 1], for backoff.
  double jitter();
  void seed(std::uint64_t value) { random_.seed(value); }

 private:
  system_config config_;
  std::shared_ptr<timer_service> timers_;
  std::shared_ptr<turn_dispatcher> pool_;
  const std::uint32_t made_in_ = os::fork_count();
  troupe::system* owner_ = nullptr;
  any_actor_ref root_;
  std::shared_ptr<registry> names_ = std::make_shared<registry>();

  std::mutex mutex_;  ///< guards the following
  std::vector<std::shared_ptr<pinned_dispatcher>> pinned_;
  std::vector<std::pair<std::string, std::shared_ptr<system_service>>> services_;
  std::vector<promise<void>> stopping_;
  bool shutting_down_ = false;
  bool services_end_ = false;  // no new ones are made
  bool stopped_ = false;
  timer_id timeout_alarm_{};
  std::mt19937_64 random_{std::random_device{}()};

  std::atomic<bool> is_forced_{false};          ///< relaxed: waiting threads check repeatedly
  std::atomic<std::uint64_t> dead_letters_{0};  ///< a count, for statistics
  std::mutex subscribers_mutex_;
  std::vector<std::shared_ptr<unique_function<void(const dead_letter&)>>> subscribers_;
};

}  // namespace troupe::detail
