#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe::detail {

/// Sleeps while `word` holds `expected`, until woken or until the deadline (`max()`: none). Returns
/// at any time without a reason: the caller checks again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::steady_clock::time_point deadline) noexcept;

/// Wakes up to `count` sleepers. Only the address matters; the word is not read.
void futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace troupe::detail
