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
  least_work,    ///< the one with the least work in flight by `work_estimate`; then by `load()`
};

/// The work that a message causes, by its sender's estimate, in any unit: nanoseconds, tokens. It
/// counts from sending until the answer, or until nothing can answer any more.
struct work_estimate {
  std::int64_t amount = 0;
};

namespace detail {

/// The estimated work in flight of each of several receivers. Relaxed: it publishes no other data.
class work_in_flight {
 public:
  explicit work_in_flight(std::size_t receivers) : of_(receivers) {}
  [[nodiscard]] std::int64_t of(std::size_t receiver) const noexcept {
    return of_[receiver].load(std::memory_order_relaxed);
  }
  void add(std::size_t receiver, std::int64_t amount) noexcept {
    of_[receiver].fetch_add(amount, std::memory_order_relaxed);
  }

 private:
  std::vector<std::atomic<std::int64_t>> of_;
};

/// A message's part of it, given back once: before its answer is seen, or when it is destroyed.
class work_share {
 public:
  work_share(std::shared_ptr<work_in_flight> all, std::size_t receiver, work_estimate much)
      : all_(std::move(all)), receiver_(receiver), amount_(much.amount) {
    all_->add(receiver_, amount_);
  }
  work_share(work_share&& other) noexcept = default;
  work_share& operator=(work_share&&) = delete;
  ~work_share() { give_back(); }
  void give_back() noexcept {
    if (const auto all = std::exchange(all_, nullptr)) all->add(receiver_, -amount_);
  }

 private:
  std::shared_ptr<work_in_flight> all_;  // null: given back
  std::size_t receiver_;
  std::int64_t amount_;
};

template <class T>
[[nodiscard]] future<T> giving_back(future<T> answer, work_share&& share) {
  return std::move(answer).then([share = std::move(share)](result<T> outcome) mutable {
    share.give_back();
    return outcome;
  });
}

}  // namespace detail

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
  /// The same with an estimate of the work, for `routing::least_work`.
  template <class M>
  auto ask(M&& message, work_estimate much, const ask_options& options = {}) const {
    const actor_ref<A>& one = choose();
    const auto place = static_cast<std::size_t>(&one - shared_->replicas.data());
    detail::work_share share(shared_->work, place, much);
    return detail::giving_back(one.ask(std::forward<M>(message), options), std::move(share));
  }

  [[nodiscard]] const std::vector<actor_ref<A>>& replicas() const noexcept {
    return shared_->replicas;
  }

 private:
  struct state {
    state(std::vector<actor_ref<A>> r, routing h)
        : replicas(std::move(r)),
          how(h),
          work(std::make_shared<detail::work_in_flight>(replicas.size())) {}
    const std::vector<actor_ref<A>> replicas;
    const routing how;
    const std::shared_ptr<detail::work_in_flight> work;
    std::atomic<std::size_t> turns{0};  ///< relaxed: it publishes no other data
  };

  const actor_ref<A>& choose() const noexcept {
    const auto& all = shared_->replicas;
    const std::size_t first = shared_->turns.fetch_add(1, std::memory_order_relaxed) % all.size();
    const actor_ref<A>* best = &all[first];
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::pair least{most, most};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t place = (first + i) % all.size();
      const actor_ref<A>& one = all[place];
      if (one.stopped()) continue;
      if (shared_->how == routing::round_robin) return one;
      const bool by_work = shared_->how == routing::least_work;
      const std::pair load{by_work ? shared_->work->of(place) : 0, one.load()};
      if (load >= least) continue;
      least = load;
      best = &one;
      if (load == std::pair<std::int64_t, std::int64_t>{}) break;
    }
    return *best;
  }

  std::shared_ptr<state> shared_;
};

}  // namespace troupe
