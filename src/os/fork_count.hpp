#pragma once

#include <troupe/base/export.hpp>

#include <atomic>
#include <cstdint>

namespace troupe::os {

namespace detail {
extern TROUPE_EXPORT std::atomic<std::uint32_t> forks;
}

/// How many forks lie between this process and the one that was started: an object made at another
/// count has none of its threads here, and its memory belongs to the process that made it. Relaxed:
/// it changes only while there is one thread.
[[nodiscard]] inline std::uint32_t fork_count() noexcept {
  return detail::forks.load(std::memory_order_relaxed);
}

}  // namespace troupe::os
