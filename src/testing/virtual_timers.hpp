#pragma once

#include "core/timer/timer_heap.hpp"

#include <troupe/core/timer_service.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace troupe::testing {

/// A clock that stands still until it is moved. For one thread.
class virtual_timers final : public timer_service {
 public:
  static constexpr time_point beginning{std::chrono::hours(1)};

  [[nodiscard]] time_point now() const noexcept override { return now_; }
  timer_id add(time_point when, unique_function<void()> expire) override {
    return heap_.add(when, std::move(expire));
  }
  void cancel(timer_id id) noexcept override { (void)heap_.cancel(id); }

  /// Rings the first alarm up to `limit`, at its time; false if there is none.
  bool ring_next(time_point limit) {
    const auto next = heap_.next();
    if (!next || *next > limit) return false;
    now_ = std::max(now_, *next);
    heap_.take_due(now_)();
    return true;
  }
  void move_to(time_point when) noexcept { now_ = when; }

 private:
  detail::timer_heap heap_;
  time_point now_ = beginning;
};

}  // namespace troupe::testing
