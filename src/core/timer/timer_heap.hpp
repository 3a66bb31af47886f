#pragma once

#include <troupe/core/timer_service.hpp>

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace troupe::detail {

/// Alarms by time, then by order of arrival. Not synchronised.
class timer_heap {
 public:
  using time_point = timer_service::time_point;

  timer_id add(time_point when, unique_function<void()> expire) {
    const timer_id id{++last_};
    alarms_.emplace(std::pair(when, id), std::move(expire));
    times_.emplace(id, when);
    return id;
  }

  /// The cancelled call, which the caller destroys outside its lock.
  unique_function<void()> cancel(timer_id id) {
    const auto found = times_.find(id);
    if (found == times_.end()) return {};
    auto node = alarms_.extract(std::pair(found->second, id));
    times_.erase(found);
    return std::move(node.mapped());
  }

  [[nodiscard]] std::optional<time_point> next() const {
    if (alarms_.empty()) return std::nullopt;
    return alarms_.begin()->first.first;
  }

  /// The first alarm that is due; empty if there is none.
  unique_function<void()> take_due(time_point now) {
    if (alarms_.empty() || alarms_.begin()->first.first > now) return {};
    auto node = alarms_.extract(alarms_.begin());
    times_.erase(node.key().second);
    return std::move(node.mapped());
  }

 private:
  std::map<std::pair<time_point, timer_id>, unique_function<void()>> alarms_;
  std::unordered_map<timer_id, time_point> times_;
  std::uint64_t last_ = 0;
};

}  // namespace troupe::detail
