#pragma once

/// 1 where the address or the thread sanitizer watches: all takes several times as long, memory
/// that is let go stays resident, and the sanitizer brings an allocator and a handler of SIGSEGV.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TROUPE_UNDER_SANITIZERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TROUPE_UNDER_SANITIZERS 1
#endif
#endif
#ifndef TROUPE_UNDER_SANITIZERS
#define TROUPE_UNDER_SANITIZERS 0
#endif

namespace troupe::test {

inline constexpr bool under_sanitizers = TROUPE_UNDER_SANITIZERS != 0;

}  // namespace troupe::test
