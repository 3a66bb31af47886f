#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace troupe::bench {

/// Fresh numbers in [-1, 1), other ones in each run. (Zeros and repeated data draw less power and
/// so flatter a GPU.)
template <class T>
[[nodiscard]] std::vector<T> random_numbers(std::size_t count) {
  static std::uint64_t state = (std::uint64_t{std::random_device{}()} << 32) | 1;
  std::vector<T> made(count);
  for (T& one : made) {
    // xorshift64*. Source: Vigna, "An experimental exploration of Marsaglia's xorshift generators".
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    const auto bits = static_cast<std::uint32_t>((state * 0x2545F4914F6CDD1Du) >> 40);
    one = T(static_cast<float>(bits) * 0x1p-23F - 1.0F);
  }
  return made;
}

}  // namespace troupe::bench
