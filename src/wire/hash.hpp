#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace troupe::wire {

namespace detail {

// Both halves of a product: each bit depends on all bits of both factors.
[[nodiscard]] inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace detail

/// Hashes the bytes of a request. They are a few hundred, for which a general hash takes as long as
/// all other work on them. Not secure against bytes that were chosen to collide.
/// Source of the folded product: Wang Yi, wyhash (https://github.com/wangyi-fudan/wyhash).
[[nodiscard]] inline std::uint64_t hash_of(std::span<const std::byte> bytes) noexcept {
  // Any odd numbers with as many ones as zeros will do: the golden ratio, and parts of pi.
  constexpr std::uint64_t ratio = 0x9e37'79b9'7f4a'7c15;
  constexpr std::uint64_t pi = 0x2438'8c68'a55a'3613;
  constexpr std::uint64_t more_pi = 0x1319'8a2e'0370'7345;
  constexpr std::size_t block_bytes = 32;
  std::uint64_t low = bytes.size() ^ ratio;
  std::uint64_t high = ~low;
  const auto take = [&](const std::byte* block) {  // two chains that do not wait for each other
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), block, block_bytes);
    low = detail::fold(words[0] ^ pi, words[1] ^ low);
    high = detail::fold(words[2] ^ more_pi, words[3] ^ high);
  };
  if (bytes.size() < block_bytes) {
    std::array<std::byte, block_bytes> padded{};
    if (!bytes.empty()) std::memcpy(padded.data(), bytes.data(), bytes.size());
    take(padded.data());
  } else {
    const std::byte* const last = bytes.data() + bytes.size() - block_bytes;
    for (const std::byte* block = bytes.data(); block < last; block += block_bytes)
      take(block);
    take(last);
  }
  return detail::fold(low ^ ratio, high ^ pi);
}

}  // namespace troupe::wire
