#include "device/copy/streaming_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace troupe {

#if defined(__x86_64__)

namespace {

using word = __m128i;
constexpr std::size_t line_bytes = 4 * sizeof(word);
// Far enough for memory to answer, near enough to stay in the first-level cache.
constexpr std::size_t fetch_distance = 16 * line_bytes;

enum class source { in_caches, past_caches };

/// Calls `store` for each word of all whole lines. \returns the number of bytes copied
template <source Source, class Store>
std::size_t copy_lines(std::byte* to, const std::byte* from, std::size_t bytes,
                       Store store) noexcept {
  std::size_t done = 0;
  for (; bytes - done >= line_bytes; done += line_bytes) {
    if constexpr (Source == source::past_caches) {
      _mm_prefetch(reinterpret_cast<const char*>(from + done + fetch_distance), _MM_HINT_NTA);
    }
    const auto* const words = reinterpret_cast<const word*>(from + done);
    auto* const target = reinterpret_cast<word*>(to + done);
    const word a = _mm_loadu_si128(words);
    const word b = _mm_loadu_si128(words + 1);
    const word c = _mm_loadu_si128(words + 2);
    const word d = _mm_loadu_si128(words + 3);
    store(target, a);
    store(target + 1, b);
    store(target + 2, c);
    store(target + 3, d);
  }
  return done;
}

}  // namespace

bool can_share_lines() noexcept {
  // Leaf 7 of CPUID, ECX bit 25 (Intel's Software Developer's Manual, volume 2A, CPUID).
  static const bool can = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_CLDEMOTE) != 0;
  }();
  return can;
}

// Processors without the instruction execute it as a no-op.
[[gnu::target("cldemote")]] void copy_into_shared_cache(std::byte* to, const std::byte* from,
                                                        std::size_t bytes) noexcept {
  if (bytes == 0) return;
  std::memcpy(to, from, bytes);
  for (std::size_t i = 0; i < bytes; i += line_bytes)
    _cldemote(to + i);
}

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const std::size_t before =
      (sizeof(word) - reinterpret_cast<std::uintptr_t>(to) % sizeof(word)) % sizeof(word);
  const std::size_t head = std::min(bytes, before);
  std::memcpy(to, from, head);
  // Writes whole cache lines.
  const auto stream = [](word* target, word value) { _mm_stream_si128(target, value); };
  const std::size_t done =
      head + copy_lines<source::in_caches>(to + head, from + head, bytes - head, stream);
  std::memcpy(to + done, from + done, bytes - done);
  // Such stores are not ordered with others, not even by a release.
  _mm_sfence();
}

void copy_from_device(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const auto store = [](word* target, word value) { _mm_storeu_si128(target, value); };
  const std::size_t done = copy_lines<source::past_caches>(to, from, bytes, store);
  std::memcpy(to + done, from + done, bytes - done);
}

#else

bool can_share_lines() noexcept { return false; }

void copy_into_shared_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

void copy_from_device(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

#endif

}  // namespace troupe
