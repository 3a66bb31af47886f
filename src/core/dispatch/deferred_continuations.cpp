#include "core/dispatch/deferred_continuations.hpp"

#include "core/dispatch/continuation_threads.hpp"
#include "os/stack.hpp"

#include <thread>

namespace troupe::detail {

deferred_continuations& deferred_continuations::mine() noexcept {
  constinit static thread_local deferred_continuations duties;
  return duties;
}

void deferred_continuations::run(continuation_queue given) noexcept {
  put_off_.append(std::move(given));
  run_all();
}

bool deferred_continuations::give_away() noexcept {
  return continuation_threads::of_process().take(put_off_);
}

// A waiting continuation runs the later ones on its own stack, as long as there is enough.
void deferred_continuations::run_all() noexcept {
  if (waits_ > 0 && os::half_of_stack_is_used() && give_away()) return;
  runs_ = true;
  while (!put_off_.empty())
    put_off_.run_first();
  runs_ = false;
}

void deferred_continuations::pause_until(future_state_base::time_point time) noexcept {
  const waiting here(*this);
  if (wait_strategy* own = own_wait_strategy()) {
    own->wait_until(nullptr, time);
  } else {
    std::this_thread::sleep_until(time);
  }
}

}  // namespace troupe::detail
