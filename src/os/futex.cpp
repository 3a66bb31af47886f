#include "os/futex.hpp"

#include "os/refused_call.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace troupe::os {
namespace {

using clock = std::chrono::steady_clock;

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

/// A deadline in the kernel's format: CLOCK_MONOTONIC, which steady_clock is on Linux.
class kernel_time {
 public:
  explicit kernel_time(clock::time_point deadline) noexcept {
    if (deadline == clock::time_point::max()) return;
    const auto since = std::max(deadline.time_since_epoch(), clock::duration::zero());
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since);
    time_.tv_sec = whole.count();
    time_.tv_nsec = std::chrono::nanoseconds(since - whole).count();
    limited_ = true;
  }
  [[nodiscard]] const timespec* get() const noexcept { return limited_ ? &time_ : nullptr; }

 private:
  timespec time_{};
  bool limited_ = false;
};

int private_flag(sharing who) noexcept { return who == sharing::program ? FUTEX_PRIVATE_FLAG : 0; }

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                clock::time_point deadline, sharing who) noexcept {
  const kernel_time until(deadline);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | private_flag(who), expected, until.get(), nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void futex_wait_either(const futex_word& first, const futex_word& second,
                       clock::time_point deadline) noexcept {
  const auto entry = [](const futex_word& w) {
    futex_waitv one{};
    one.uaddr = reinterpret_cast<std::uintptr_t>(&w.word);
    one.val = w.expected;
    one.flags = FUTEX_32 | static_cast<unsigned>(private_flag(w.who));
    return one;
  };
  const futex_waitv words[2] = {entry(first), entry(second)};
  const kernel_time until(deadline);
  const long outcome = ::syscall(SYS_futex_waitv, words, 2, 0, until.get(), CLOCK_MONOTONIC);
  if (outcome < 0 && call_is_refused(errno)) {
    futex_wait(first.word, first.expected,
               std::min(deadline, clock::now() + std::chrono::milliseconds(1)), first.who);
  }
}

void futex_wake(const std::atomic<std::uint32_t>& word, int count, sharing who) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE | private_flag(who), count, nullptr, nullptr, 0);
}

}  // namespace troupe::os
