#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace troupe {

/// FNV-1a, which has a value that goes on from any other.
[[nodiscard]] constexpr std::uint64_t hash_on(std::uint64_t from, std::string_view text) noexcept {
  for (const char one : text)
    from = (from ^ static_cast<unsigned char>(one)) * 0x100000001b3;
  return from;
}

/// The seed of a device in a map.
[[nodiscard]] constexpr std::uint64_t rendezvous_seed(std::string_view identity) noexcept {
  // A byte that no text in UTF-8 has: no identity and key are another identity and key.
  return hash_on(hash_on(0xcbf29ce484222325, identity), "\xff");
}

/// The number that a device draws for a key. The device with the greatest one has the key. The
/// number is exponentially distributed, so devices win in proportion to their weights.
[[nodiscard]] inline double rendezvous_draw(std::uint64_t seed, std::string_view key,
                                            double weight) noexcept {
  // The finalizer of splitmix64, because FNV mixes its last bytes little.
  std::uint64_t h = hash_on(seed, key);
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
  h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
  h ^= h >> 31;
  const double uniform = (static_cast<double>(h >> 11) + 0.5) * 0x1p-53;  // between 0 and 1
  return -weight / std::log(uniform);
}

}  // namespace troupe
