#pragma once

namespace troupe::test {

/// True where the address or the thread sanitizer watches: all takes several times as long, and
/// memory that is let go stays resident.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool under_sanitizers = true;
#elif defined(__has_feature)
inline constexpr bool under_sanitizers =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool under_sanitizers = false;
#endif

}  // namespace troupe::test
