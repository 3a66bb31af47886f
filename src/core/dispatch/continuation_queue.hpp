#pragma once

#include <troupe/core/future_state.hpp>

#include <utility>

namespace troupe::detail {

/// Continuations in the order in which they must run, each with its state; an intrusive list, so
/// nothing is allocated.
class continuation_queue {
 public:
  continuation_queue() = default;
  continuation_queue(continuation_queue&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(other.last_) {}
  continuation_queue& operator=(continuation_queue&&) = delete;
  ~continuation_queue() = default;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void push(continuation& next, future_state_base& state) noexcept {
    next.source = &state;
    next.after = nullptr;
    (first_ == nullptr ? first_ : last_->after) = &next;
    last_ = &next;
  }

  /// Precondition: not empty.
  void run_first() noexcept {
    continuation& next = *std::exchange(first_, first_->after);
    next.run(next, *next.source);
  }

  void append(continuation_queue more) noexcept {
    if (more.empty()) return;
    (first_ == nullptr ? first_ : last_->after) = more.first_;
    last_ = more.last_;
  }

 private:
  continuation* first_ = nullptr;
  continuation* last_ = nullptr;
};

}  // namespace troupe::detail
