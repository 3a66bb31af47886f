#include "ledger.hpp"

namespace digits {

void ledger::sent(std::size_t requests) noexcept {
  sent_.fetch_add(static_cast<std::int64_t>(requests), std::memory_order_relaxed);
}

troupe::result<void> ledger::settle(std::string_view who, troupe::future<void> asked) {
  if (!asked.wait_for(timeout)) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return troupe::error{.code = troupe::errc::timed_out, .message = "lost: never answered"};
  }
  troupe::result<void> outcome = asked.get_result();
  if (outcome) {
    answered_.fetch_add(1, std::memory_order_relaxed);
  } else {
    const std::scoped_lock guard(lock_);
    failures_.push_back({.who = std::string(who), .error = outcome.error()});
  }
  return outcome;
}

ledger::counts ledger::count() const noexcept {
  counts now{.answered = answered_.load(std::memory_order_relaxed),
             .lost = lost_.load(std::memory_order_relaxed)};
  {
    const std::scoped_lock guard(lock_);
    now.failed = static_cast<std::int64_t>(failures_.size());
  }
  // Read last, so that the number in flight is never negative.
  now.sent = sent_.load(std::memory_order_relaxed);
  return now;
}

std::vector<failed_request> ledger::failures() const {
  const std::scoped_lock guard(lock_);
  return failures_;
}

}  // namespace digits
