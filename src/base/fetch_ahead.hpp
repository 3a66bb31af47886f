#pragma once

namespace troupe::detail {

// A line that another processor has written or read is fetched from there at the price of some
// 100 ns, which whoever knows ahead what it will touch need not wait for.

/// Begins to fetch the cache line at `address`, which need not be mapped.
inline void fetch_for_reading(const void* address) noexcept { __builtin_prefetch(address, 0); }

/// The same for a line that will be written: takes it away from other processors, too.
inline void fetch_for_writing(const void* address) noexcept {
#if defined(__x86_64__)
  // The compiler's own would fetch for reading only, unless told of a newer processor. One that
  // does not know the instruction skips it.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace troupe::detail
