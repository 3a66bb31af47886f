#pragma once

#include <troupe/serving/batch_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace troupe::serving {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds usual_time(std::int64_t cost) { return 1ms + cost * 100us; }

/// A queue, a device that runs one batch after the other, and their time.
class served {
 public:
  explicit served(batch_config config) : queue(std::move(config)) {}

  /// Zero if the item was refused.
  item_id ask(item_terms terms) {
    const admission verdict = queue.admit(terms, now);
    if (verdict) {
      items[verdict.item] = {terms, now};
    } else {
      last_refusal = verdict;
    }
    settle();
    return verdict.item;
  }
  void advance(nanoseconds by) {
    for (const time_point until = now + by;;) {
      time_point next = queue.wake_at();
      for (const auto& [ends, plan] : running)
        next = std::min(next, ends);
      if (next > until) {
        now = until;
        return;
      }
      now = std::max(now, next);
      if (!running.empty() && running.front().first <= now) {
        const batch_plan plan = running.front().second;
        running.erase(running.begin());
        finish(plan);
      }
      settle();
    }
  }
  [[nodiscard]] double device_seconds(std::uint64_t tenant) const {
    for (const auto& [id, seconds] : queue.facts().device_seconds)
      if (id == tenant) return seconds;
    return 0;
  }

  struct asked {
    item_terms terms;
    time_point at;
  };
  batch_queue queue;
  time_point now{1h};
  time_point device_free{};
  std::vector<std::pair<time_point, batch_plan>> running;
  std::vector<batch_plan> begun;
  std::map<item_id, asked> items;
  std::map<item_id, item_ending> ended;
  std::map<item_id, nanoseconds> answered;
  admission last_refusal;
  /// How a batch ends.
  std::function<run_end(const batch_plan&)> how = [](const batch_plan&) {
    return run_end::answered;
  };
  nanoseconds failover{0};
  std::function<nanoseconds(std::int64_t)> time_of = usual_time;

 private:
  void finish(const batch_plan& plan) {
    const run_end end = how(plan);
    if (end == run_end::fault) {
      now += failover;
      device_free += failover;
    }
    const item_terms& first = items.at(plan.items.front()).terms;
    queue.finish(plan.id, now, end,
                 first.fingerprint != 0 ? first.fingerprint : plan.items.front());
    if (end != run_end::answered) return;
    for (const item_id one : plan.items)
      answered[one] = now - items.at(one).at;
  }
  void settle() {
    while (const auto plan = queue.next(now)) {
      for (const item_id one : plan->items)
        ASSERT_GT(items.at(one).terms.deadline, now) << "launched what has expired";
      begun.push_back(*plan);
      device_free = std::max(device_free, now) + time_of(plan->cost);
      running.emplace_back(device_free, *plan);
    }
    for (const item_end& one : queue.take_ended())
      ended[one.item] = one.how;
  }
};

}  // namespace troupe::serving
