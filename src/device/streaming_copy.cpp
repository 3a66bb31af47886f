#include "device/streaming_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace troupe {

#if defined(__SSE2__)

void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t word = sizeof(__m128i);
  const std::size_t before = (word - reinterpret_cast<std::uintptr_t>(to) % word) % word;
  const std::size_t head = std::min(bytes, before);
  std::memcpy(to, from, head);
  to += head;
  from += head;
  std::size_t left = bytes - head;
  // A cache line at a time: it leaves as a whole.
  for (; left >= 4 * word; left -= 4 * word, to += 4 * word, from += 4 * word) {
    const auto* const source = reinterpret_cast<const __m128i*>(from);
    auto* const target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to, from, left);
  // Such stores are ordered with no others, not even by a release.
  _mm_sfence();
}

#else

void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

#endif

}  // namespace troupe
