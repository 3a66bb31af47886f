#pragma once

namespace troupe::detail {

// Fetching a cache line that another processor has written or read costs some 100 ns. Code that
// knows its next accesses can fetch the lines early, without waiting.

/// Begins to fetch the cache line at `address`, which need not be mapped.
inline void fetch_for_reading(const void* address) noexcept { __builtin_prefetch(address, 0); }

/// The same for a line that will be written: takes it away from other processors, too.
inline void fetch_for_writing(const void* address) noexcept {
#if defined(__x86_64__)
  // The compiler's own would fetch for reading only, unless it targets a newer processor. A
  // processor without the instruction skips it.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace troupe::detail
