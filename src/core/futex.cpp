#include "core/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace troupe::detail {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::steady_clock::time_point deadline) noexcept {
  using namespace std::chrono;
  std::timespec until{};
  std::timespec* limit = nullptr;
  if (deadline != steady_clock::time_point::max()) {
    const auto since = deadline.time_since_epoch();
    const auto whole = duration_cast<seconds>(since);
    until.tv_sec = whole.count();
    until.tv_nsec = duration_cast<nanoseconds>(since - whole).count();
    if (until.tv_sec < 0 || until.tv_nsec < 0) return;
    limit = &until;
  }
  // FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC, which steady_clock is.
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, limit, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace troupe::detail
