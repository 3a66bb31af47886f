#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe::os {

/// Who shares a futex word. Sleeper and waker must pass the same.
enum class sharing : std::uint8_t {
  program,    ///< threads of this program
  processes,  ///< any process that has mapped the word
};

/// Sleeps while `word` holds `expected`, until woken or until the deadline (`max()`: none). May
/// return at any time without a reason: the caller checks again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::steady_clock::time_point deadline, sharing who) noexcept;

/// One word of several to sleep on.
struct futex_word {
  const std::atomic<std::uint32_t>& word;
  std::uint32_t expected = 0;
  sharing who{};
};

/// Sleeps while both words hold their expected values. If the kernel cannot (before Linux 5.16), or
/// refuses to, it sleeps on the first for a millisecond at most.
void futex_wait_either(const futex_word& first, const futex_word& second,
                       std::chrono::steady_clock::time_point deadline) noexcept;

/// Wakes up to `count` sleepers. Only the address matters; the word is not read.
void futex_wake(const std::atomic<std::uint32_t>& word, int count, sharing who) noexcept;

}  // namespace troupe::os
