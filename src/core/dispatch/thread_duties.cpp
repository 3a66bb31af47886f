#include "core/dispatch/thread_duties.hpp"

#include "core/dispatch/continuation_threads.hpp"
#include "os/stack.hpp"

#include <thread>

namespace troupe::detail {

thread_duties& thread_duties::mine() noexcept {
  constinit static thread_local thread_duties duties;
  return duties;
}

void thread_duties::run(continuation_queue given) noexcept {
  put_off_.append(std::move(given));
  run_all();
}

bool thread_duties::give_away() noexcept {
  return continuation_threads::of_process().take(put_off_);
}

// One that waits runs those after it below itself, as long as there is enough stack.
void thread_duties::run_all() noexcept {
  if (waits_ > 0 && os::half_of_stack_is_used() && give_away()) return;
  runs_ = true;
  while (!put_off_.empty())
    put_off_.run_first();
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
