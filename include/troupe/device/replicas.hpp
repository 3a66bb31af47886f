#pragma once

#include <troupe/core/router.hpp>
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
/// device starts or recovers or it has stopped, the best of all gets it. A message with an estimate
/// of its work goes to the one with the least estimated work in flight, of all that serve. Copies
/// share the drawing. Thread-safe.
///
/// Source of the two draws: Mitzenmacher, "The power of two choices in randomized load balancing",
/// 2001.
template <class A>
class replicas {
 public:
  /// Throws `failure` (`errc::invalid_argument`) if `all` is empty.
  explicit replicas(std::vector<replica<A>> all)
      : shared_(std::make_shared<state>(std::move(all))) {
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
  template <class M>
  auto ask(M&& message, work_estimate much, const ask_options& options = {}) const {
    const std::size_t place = least(shared_->all.size());
    detail::work_share share(shared_->estimated, place, much);
    return detail::giving_back(shared_->all[place].actor.ask(std::forward<M>(message), options),
                               std::move(share));
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
    const std::size_t best = work(second) < work(first) ? second : first;
    return std::get<0>(work(best)) == 0 ? all[best] : all[least(best)];
  }

 private:
  struct state {
    explicit state(std::vector<replica<A>> a)
        : all(std::move(a)), estimated(std::make_shared<detail::work_in_flight>(all.size())) {}
    const std::vector<replica<A>> all;
    const std::shared_ptr<detail::work_in_flight> estimated;
    std::atomic<std::uint64_t> draws{0};  // relaxed: it publishes no other data
  };

  // Less is better.
  std::tuple<int, std::int64_t, std::uint64_t> work(std::size_t place) const {
    const replica<A>& one = shared_->all[place];
    const detail::device_work of_device = detail::work_of(one.on);
    return {one.actor.stopped() ? 3 : of_device.rank, shared_->estimated->of(place),
            static_cast<std::uint64_t>(one.actor.load()) + of_device.in_flight};
  }
  // The best of all; of equal ones `first`, if it is one, or the next in turn.
  std::size_t least(std::size_t first) const {
    const std::size_t count = shared_->all.size();
    if (first >= count) first = shared_->draws.fetch_add(1, std::memory_order_relaxed) % count;
    std::size_t best = first;
    for (std::size_t i = 1; i < count; ++i) {
      const std::size_t one = (first + i) % count;
      if (work(one) < work(best)) best = one;
    }
    return best;
  }

  std::shared_ptr<state> shared_;
};

}  // namespace troupe
