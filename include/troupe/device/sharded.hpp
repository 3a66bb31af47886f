#pragma once

#include <troupe/core/system.hpp>
#include <troupe/device/shard_map.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// An actor for each key, on the device that a `shard_map` says. The first message for a key spawns
/// its actor; one that has stopped by itself is spawned again by the next message.
///
/// When a device has stopped, its actors are moved: each handles what is in its mailbox, which may
/// fail with `device_stopped`, and stops; another one with its key is spawned on the next device of
/// the key's ranking. It stays there if the former device is restarted. A message that is on its
/// way meanwhile may fail with `actor_stopped`.
///
/// Thread-safe. Must not outlive the system; its actors stop with it.
template <class A>
class sharded {
 public:
  /// Makes an actor, at its first start and each restart.
  using factory = std::function<std::unique_ptr<A>(const device& on, const std::string& key)>;

  sharded(troupe::system& system, shard_map where, factory make, spawn_options options = {})
      : state_(std::make_shared<state>(system, std::move(where), std::move(make),
                                       std::move(options))) {
    for (const device& one : state_->where.devices()) {
      device(one).watch_generation([weak = std::weak_ptr(state_), one](auto generation) {
        if (generation) return;
        if (const auto self = weak.lock()) self->leave(one);
      });
    }
  }
  sharded(const sharded&) = delete;
  sharded& operator=(const sharded&) = delete;
  ~sharded() { state_->end(); }

  /// The actor of a key. Do not keep it: it may move.
  /// \errors `device_stopped` if all devices have
  [[nodiscard]] result<actor_ref<A>> actor_of(std::string_view key) const {
    return state_->find(key);
  }
  template <class M>
  bool tell(std::string_view key, M&& message) const {
    const auto to = actor_of(key);
    return to && to->tell(std::forward<M>(message));
  }
  template <class M>
  auto ask(std::string_view key, M&& message, const ask_options& options = {}) const {
    auto to = actor_of(key);
    using answer = decltype(to->ask(std::forward<M>(message), options));
    if (!to) return make_failed_future<typename answer::value_type>(std::move(to).error());
    return to->ask(std::forward<M>(message), options);
  }

 private:
  struct shard {
    device on;
    actor_ref<A> actor;
  };

  struct state {
    state(troupe::system& s, shard_map w, factory m, spawn_options o)
        : where(std::move(w)),
          make(std::make_shared<factory>(std::move(m))),
          options(std::move(o)),
          system(&s) {}

    result<actor_ref<A>> find(std::string_view key) {
      const std::lock_guard lock(mutex);
      const auto there = shards.find(key);
      if (there != shards.end() && !there->second.actor.stopped()) {
        if (!detail::has_stopped(there->second.on)) return there->second.actor;
        there->second.actor.stop_after_mailbox();
      }
      return spawn(std::string(key));
    }
    void leave(const device& one) {
      const std::lock_guard lock(mutex);
      std::vector<std::string> moved;
      for (auto& [key, s] : shards) {
        if (s.on.core() != one.core() || s.actor.stopped()) continue;
        s.actor.stop_after_mailbox();
        moved.push_back(key);
      }
      for (std::string& key : moved)
        (void)spawn(std::move(key));
    }
    void end() {
      const std::lock_guard lock(mutex);
      for (const auto& [key, s] : shards)
        s.actor.stop_after_mailbox();
      system = nullptr;
    }

    // With the lock.
    result<actor_ref<A>> spawn(std::string key) {
      auto on = where.device_of(key);
      if (!on) return std::move(on).error();
      if (system == nullptr) {
        return error{.code = errc::actor_stopped, .message = "the sharded actors have ended"};
      }
      // Those that have stopped take space; most calls find fewer than before.
      if (shards.size() >= swept_at) {
        std::erase_if(shards, [](const auto& one) { return one.second.actor.stopped(); });
        swept_at = std::max(swept_at, 2 * shards.size());
      }
      spawn_options named = options;
      if (named.name.empty()) named.name = key;
      auto actor = system->spawn_from<A>([make = make, on = *on, key] { return (*make)(on, key); },
                                         std::move(named));
      shards.insert_or_assign(std::move(key), shard{*std::move(on), actor});
      return actor;
    }

    const shard_map where;
    const std::shared_ptr<factory> make;
    const spawn_options options;
    std::mutex mutex;  // guards the rest
    troupe::system* system;
    std::map<std::string, shard, std::less<>> shards;
    std::size_t swept_at = 256;
  };

  std::shared_ptr<state> state_;
};

}  // namespace troupe
