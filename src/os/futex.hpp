#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe::os {

/// Sleeps while `word` holds `expected`, until woken or `deadline`; may return early. Works across
/// processes when the word lies in shared memory.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::steady_clock::time_point deadline) noexcept;

/// Wakes up to `sleepers` threads that sleep on `word`.
void futex_wake(std::atomic<std::uint32_t>& word, int sleepers) noexcept;

/// One turn of a spin loop.
inline void spin_pause() noexcept { __builtin_ia32_pause(); }

}  // namespace troupe::os
