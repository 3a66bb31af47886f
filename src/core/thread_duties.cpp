#include "core/thread_duties.hpp"

#include <thread>
#include <utility>

namespace troupe::detail {

thread_duties& thread_duties::mine() noexcept {
  constinit static thread_local thread_duties duties;
  return duties;
}

void thread_duties::put_off(continuation& next, future_state_base& state) noexcept {
  next.source = &state;
  next.after = nullptr;
  (first_ == nullptr ? first_ : last_->after) = &next;
  last_ = &next;
}

// One that waits runs those after it below itself.
void thread_duties::run_all() noexcept {
  runs_ = true;
  while (first_ != nullptr) {
    continuation& next = *std::exchange(first_, first_->after);
    next.run(next, *next.source);
  }
  runs_ = false;
}

void thread_duties::pause_until(future_state_base::time_point time) noexcept {
  const waiting here(*this);
  if (way_to_wait* own = own_way_to_wait()) {
    own->wait_until(nullptr, time);
  } else {
    std::this_thread::sleep_until(time);
  }
}

}  // namespace troupe::detail
