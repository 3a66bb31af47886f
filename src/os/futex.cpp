#include "os/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>


namespace troupe::os {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::steady_clock::time_point deadline) noexcept {
  // FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, which steady_clock is on Linux.
  timespec until{};
  timespec* limit = nullptr;
  if (deadline != std::chrono::steady_clock::time_point::max()) {
    const auto since = deadline.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    until.tv_sec = seconds.count();
    until.tv_nsec = std::chrono::nanoseconds(since - seconds).count();
    limit = &until;
  }
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, limit, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(std::atomic<std::uint32_t>& word, int sleepers) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, sleepers, nullptr, nullptr, 0);
}

}  // namespace troupe::os
