#pragma once

#include <troupe/base/error.hpp>
#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>
#include <troupe/device/health.hpp>
#include <troupe/serving/terms.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe::serving {

/// Answers items: a `batcher`, `replicas`, `versions`, or a function. `Out` for an item.
template <class In, class Out>
using model = std::function<future<Out>(In, const item_terms&)>;

/// A model on a device.
template <class In, class Out>
struct replica {
  serving::model<In, Out> model;
  /// The state of its device: `[gpu] { return gpu.health().state; }`. Null: always ready.
  std::function<device_state()> state{};
};

namespace detail {

/// True for an error that says that a device answers nothing any more.
[[nodiscard]] TROUPE_EXPORT bool is_gone(errc code) noexcept;
/// The smaller, the sooner a device in this state gets items.
[[nodiscard]] TROUPE_EXPORT int rank_of(device_state state) noexcept;
[[nodiscard]] TROUPE_EXPORT error nothing_given(const char* to, const char* what);

/// A failure that an actor has answered is that of its future.
template <class Out>
[[nodiscard]] future<Out> flat(future<result<Out>> answer) {
  return std::move(answer).then([](result<result<Out>> both) -> result<Out> {
    if (!both) return std::move(both).error();
    return *std::move(both);
  });
}

template <class In, class Out>
class replicating final : public actor {
 public:
  static constexpr bool reentrant = true;
  struct asked {
    In item;
    item_terms terms;
  };

  explicit replicating(std::vector<replica<In, Out>> all) {
    for (replica<In, Out>& one : all)
      places_.push_back({std::move(one), 0});
  }

  task<result<Out>> handle(asked m) {
    m.terms.deadline = std::min(m.terms.deadline, current_deadline());
    std::vector<bool> tried(places_.size(), false);
    for (std::size_t left = places_.size(); left > 0; --left) {
      const std::size_t at = choose(tried);
      tried[at] = true;
      places_[at].cost += m.terms.cost;
      auto answer = co_await as_result(places_[at].of.model(m.item, m.terms));
      places_[at].cost -= m.terms.cost;
      // One that has not answered moves, as after a loss: it may have run.
      if (answer || !is_gone(answer.error().code) || left == 1) co_return answer;
    }
    co_return error{};  // there is a replica
  }

 private:
  struct place {
    replica<In, Out> of;
    std::int64_t cost;  ///< the sum of that of its items in flight
  };

  [[nodiscard]] std::size_t choose(const std::vector<bool>& tried) {
    ++turn_;
    std::size_t best = 0;
    std::tuple<int, std::int64_t, std::size_t> least{};
    bool found = false;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (tried[i]) continue;
      const place& one = places_[i];
      const device_state state = one.of.state ? one.of.state() : device_state::ready;
      const std::tuple load(rank_of(state), one.cost, (i + turn_) % places_.size());
      if (found && load >= least) continue;
      found = true;
      least = load;
      best = i;
    }
    return best;
  }

  std::vector<place> places_;
  std::size_t turn_ = 0;
};

}  // namespace detail

/// The same model on several devices: an item goes to the one with the least work in flight, by
/// cost. A device that recovers gets nothing new while another one is ready, one that has stopped
/// nothing while another one has not. Items of a stopped device that were not answered move to
/// others, so a model may see one again. Copies are the same. Thread-safe.
template <class In, class Out>
class replicas {
  using replicating = detail::replicating<In, Out>;

 public:
  /// Throws `failure` (`invalid_argument`) if `all` is empty.
  replicas(system& in, std::vector<replica<In, Out>> all) {
    if (all.empty()) throw failure(detail::nothing_given("replicas", "replica"));
    actor_ = in.spawn<replicating>(std::move(all));
  }

  /// The answer of one of them. \errors those of the model
  future<Out> ask(In item, const item_terms& terms = {}) const {
    return detail::flat(actor_.ask(typename replicating::asked{std::move(item), terms}));
  }
  future<Out> operator()(In item, const item_terms& terms) const {
    return ask(std::move(item), terms);
  }

 private:
  actor_ref<replicating> actor_;
};

}  // namespace troupe::serving
