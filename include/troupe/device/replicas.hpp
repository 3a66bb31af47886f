#pragma once

#include <troupe/device/device_group.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe {

/// An actor, and the device that it uses.
template <class A>
struct replica {
  actor_ref<A> actor;
  device on;
};

/// Sends each message to one of several actors that do the same on a device each; used like an
/// `actor_ref`. Two are drawn at random, and the one with less in flight gets the message: its own
/// unfinished messages and its device's requests count. If neither of them serves, because its
/// device starts or recovers or it has stopped, the best of all gets it. Copies share the drawing.
/// Thread-safe.
///
/// Source of the two draws: Mitzenmacher, "The power of two choices in randomized load balancing",
/// 2001.
template <class A>
class replicas {
 public:
  /// Throws `failure` (`errc::invalid_argument`) if `all` is empty.
  explicit replicas(std::vector<replica<A>> all)
      : shared_(std::make_shared<state>(std::move(all), 0)) {
    if (shared_->all.empty()) {
      throw failure(
          {.code = errc::invalid_argument, .message = "replicas: it needs at least one actor"});
    }
  }

  template <class M>
  bool tell(M&& message) const {
    return choose().actor.tell(std::forward<M>(message));
  }
  template <class M>
  auto ask(M&& message, const ask_options& options = {}) const {
    return choose().actor.ask(std::forward<M>(message), options);
  }

  /// The one that the next message would be sent to.
  [[nodiscard]] const replica<A>& choose() const {
    const std::vector<replica<A>>& all = shared_->all;
    // Steps of the golden ratio, mixed: enough for a draw.
    std::uint64_t drawn =
        shared_->draws.fetch_add(1, std::memory_order_relaxed) * 0x9e3779b97f4a7c15;
    drawn = (drawn ^ (drawn >> 32)) * 0xbf58476d1ce4e5b9;
    const std::size_t first = (drawn >> 40) % all.size();
    const std::size_t step = all.size() > 1 ? 1 + ((drawn >> 20) & 0xfffff) % (all.size() - 1) : 0;
    const std::size_t second = (first + step) % all.size();
    const auto one = work(all[first]);
    const auto other = work(all[second]);
    std::size_t best = other < one ? second : first;
    auto least = std::min(one, other);
    for (std::size_t i = 0; i < all.size() && std::get<0>(least) > 0; ++i) {
      const auto now = work(all[i]);
      if (now >= least) continue;
      best = i;
      least = now;
    }
    return all[best];
  }

 private:
  struct state {
    state(std::vector<replica<A>> a, std::uint64_t d) : all(std::move(a)), draws(d) {}
    const std::vector<replica<A>> all;
    std::atomic<std::uint64_t> draws;  // relaxed: it publishes no other data
  };

  // Less is better.
  static std::tuple<int, std::uint64_t> work(const replica<A>& one) {
    const detail::device_work of_device = detail::work_of(one.on);
    return {one.actor.stopped() ? 3 : of_device.rank,
            static_cast<std::uint64_t>(one.actor.load()) + of_device.in_flight};
  }

  std::shared_ptr<state> shared_;
};

}  // namespace troupe
