#pragma once

#include <troupe/base/error.hpp>
#include <troupe/core/actor_ref.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

/// How a router chooses the replica for a message.
enum class routing : std::uint8_t {
  round_robin,   ///< each in turn
  least_loaded,  ///< the one with the least `load()`; equally loaded ones in turn
};

/// Sends each message to one of several actors of the same type; used like an `actor_ref`. Stopped
/// replicas are skipped as long as another one is running. Copies share the rotation. Thread-safe.
template <class A>
class router {
 public:
  /// Throws `failure` (`errc::invalid_argument`) if `replicas` is empty.
  explicit router(std::vector<actor_ref<A>> replicas, routing how = routing::round_robin)
      : shared_(std::make_shared<state>(std::move(replicas), how)) {
    if (shared_->replicas.empty()) {
      throw failure(
          {.code = errc::invalid_argument, .message = "router: it needs at least one replica"});
    }
  }

  template <class M>
  bool tell(M&& message) const {
    return choose().tell(std::forward<M>(message));
  }
  template <class M>
  future<void> send(M&& message) const {
    return choose().send(std::forward<M>(message));
  }
  template <class M>
  auto ask(M&& message) const {
    return choose().ask(std::forward<M>(message));
  }
  template <class M>
  auto ask(M&& message, const ask_options& options) const {
    return choose().ask(std::forward<M>(message), options);
  }

  [[nodiscard]] const std::vector<actor_ref<A>>& replicas() const noexcept {
    return shared_->replicas;
  }

 private:
  struct state {
    state(std::vector<actor_ref<A>> r, routing h) : replicas(std::move(r)), how(h) {}
    const std::vector<actor_ref<A>> replicas;
    const routing how;
    std::atomic<std::size_t> turns{0};  ///< relaxed: it publishes no other data
  };

  const actor_ref<A>& choose() const noexcept {
    const auto& all = shared_->replicas;
    const std::size_t first = shared_->turns.fetch_add(1, std::memory_order_relaxed) % all.size();
    const actor_ref<A>* best = &all[first];
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const actor_ref<A>& one = all[(first + i) % all.size()];
      if (one.stopped()) continue;
      if (shared_->how == routing::round_robin) return one;
      const std::int64_t load = one.load();
      if (load >= least) continue;
      least = load;
      best = &one;
      if (load == 0) break;
    }
    return *best;
  }

  std::shared_ptr<state> shared_;
};

}  // namespace troupe
