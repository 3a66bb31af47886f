#include "device/world/world_driver.hpp"

#include "base/spin_wait.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

world_driver::world_driver(std::vector<reactor*> of) noexcept : of_(std::move(of)) {
  for (reactor* one : of_)
    one->retain();
}

world_driver::~world_driver() {
  for (reactor* one : of_)
    one->release();
}

void world_driver::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void world_driver::continuation_attached() noexcept {
  for (reactor* one : of_)
    one->continuation_attached();
}

void world_driver::drive_until(const future_state_base& state,
                               std::chrono::steady_clock::time_point deadline) noexcept {
  if (of_.front()->is_copy()) [[unlikely]] {
    for (reactor* one : of_)
      one->drive_until(state, deadline);
    return;
  }
  detail::spin_wait spin(of_.front()->spins(), 1);
  do {
    for (reactor* one : of_)
      one->try_poll();
    if (state.ready()) return;
  } while (spin.step());
  // The device threads complete it now; a look of its own now and then costs little.
  continuation_attached();
  constexpr auto until_looked_again = std::chrono::milliseconds(50);
  state.park_until(std::min(deadline, std::chrono::steady_clock::now() + until_looked_again));
}

}  // namespace troupe
