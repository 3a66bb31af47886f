#include "base/spin_wait.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "os/futex.hpp"

#include <troupe/core/completion_driver.hpp>
#include <troupe/core/future_state.hpp>

#include <climits>

namespace troupe {

completion_driver::~completion_driver() = default;
void completion_driver::continuation_attached() noexcept {}
void completion_driver::retain() noexcept {}
void completion_driver::release() noexcept {}

namespace {

constinit thread_local detail::spin_budget waiter_budget;

bool passed(future_state_base::time_point deadline) noexcept {
  return deadline != future_state_base::time_point::max() &&
         std::chrono::steady_clock::now() >= deadline;
}

}  // namespace

future_state_base::~future_state_base() {
  if (driver_ != nullptr) driver_->release();
}

void future_state_base::set_driver(completion_driver* helper) noexcept {
  if (helper != nullptr) helper->retain();
  if (driver_ != nullptr) driver_->release();
  driver_ = helper;
}

bool future_state_base::wait_until(time_point deadline) const noexcept {
  if (ready()) return true;
  detail::deferred_continuations& duties = detail::deferred_continuations::mine();
  const detail::deferred_continuations::waiting here(duties);
  if (ready()) return true;
  if (detail::wait_strategy* own = duties.own_wait_strategy()) {
    own->wait_until(this, deadline);
    return ready();
  }
  if (driver_ == nullptr) return spin_until(deadline);
  do {
    driver_->drive_until(*this, deadline);
    if (ready()) return true;
  } while (!passed(deadline));
  return false;
}

bool future_state_base::spin_until(time_point deadline) const noexcept {
  detail::spin_wait spin(waiter_budget.current());
  while (!ready()) {
    if (passed(deadline)) return false;
    if (!spin.step()) {
      waiter_budget.spinning_was_in_vain();
      return park_until(deadline);
    }
  }
  waiter_budget.spinning_was_enough();
  return true;
}

std::optional<std::uint32_t> future_state_base::announce_sleeper() const noexcept {
  std::uint32_t status = status_.load(std::memory_order_acquire);
  while ((status & completed) == 0) {
    if ((status & parked) != 0 ||
        status_.compare_exchange_weak(status, status | parked, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      return status | parked;
    }
  }
  return std::nullopt;
}

bool future_state_base::park_until(time_point deadline) const noexcept {
  const detail::deferred_continuations::sleeping here;
  while (const auto incomplete = announce_sleeper()) {
    os::futex_wait(status_, *incomplete, deadline, os::sharing::program);
    if (!ready() && passed(deadline)) return false;
  }
  return true;
}

void future_state_base::complete_for(std::uint32_t before) noexcept {
  if ((before & continued) != 0) {
    detail::deferred_continuations::mine().run_soon(*continuation_, *this);
  } else if ((before & abandoned_bit) != 0) {
    destroy();
  } else {
    // The waiter may have seen `completed` already and freed the block: use only its address.
    os::futex_wake(status_, INT_MAX, os::sharing::program);
  }
}

void future_state_base::continue_with(detail::continuation& next) noexcept {
  continuation_ = &next;
  if (driver_ != nullptr && !ready()) driver_->continuation_attached();
  const std::uint32_t before = status_.fetch_or(continued, std::memory_order_acq_rel);
  if ((before & completed) == 0) return;
  detail::deferred_continuations::mine().run_soon(next, *this);
}

void future_state_base::abandon() noexcept {
  const std::uint32_t before = status_.fetch_or(abandoned_bit, std::memory_order_acq_rel);
  if ((before & completed) != 0) destroy();
}

}  // namespace troupe
