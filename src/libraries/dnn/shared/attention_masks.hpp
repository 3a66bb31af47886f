#pragma once

#include "libraries/dnn/requests/attention_sizes.hpp"
#include "libraries/rng/shared/philox.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

/// Masks, ALiBi and dropout of single scores. All of it but `dropout_threshold` is
/// constexpr, so that kernels run the same code.
namespace troupe::dnn {

/// The keys that a query attends to are those from `first` to before `last`.
struct key_range {
  std::int64_t first;
  std::int64_t last;
};

/// The masks of one sequence.
struct band {
  std::int64_t keys = 0;
  std::int64_t left = -1;
  std::int64_t right = -1;
  std::int64_t shift = 0;  ///< the diagonal's: c = i + shift

  [[nodiscard]] constexpr key_range of_query(std::int64_t i) const noexcept {
    const std::int64_t c = i + shift;
    // Bounds may be any numbers, also ones that sums overflow with. A kernel cannot refer to the
    // host's constant, so it is copied.
    const std::int64_t first = left >= 0 && left < c ? std::min(c - left, keys) : 0;
    const std::int64_t last =
        right >= 0
            ? std::clamp<std::int64_t>(c + std::min(right, std::int64_t{max_elements}) + 1, 0, keys)
            : keys;
    return {first, std::max(first, last)};
  }
};

/// The slope of ALiBi for a query head is two to this power.
[[nodiscard]] constexpr double alibi_exponent(std::int64_t head, std::int64_t heads) noexcept {
  // `std::bit_floor` gave wrong slopes in kernels (nvcc 13.0, H100), without a warning.
  std::int64_t power = 1;
  while (power <= heads / 2)
    power *= 2;
  // Beyond the power of two, the 1st, 3rd, … of twice as many.
  const double step =
      head < power ? static_cast<double>(head + 1) / static_cast<double>(power)
                   : static_cast<double>(2 * (head - power) + 1) / static_cast<double>(2 * power);
  return -8 * step;
}

/// A probability is kept where its word of the stream is at least this.
[[nodiscard]] inline std::uint64_t dropout_threshold(double dropout) noexcept {
  return static_cast<std::uint64_t>(std::ceil(std::ldexp(dropout, 32)));
}

/// The words of a stream, one after the other, four of which are drawn at a time.
class drawn_words {
 public:
  constexpr drawn_words(std::uint64_t seed, std::uint64_t first) noexcept
      : seed_(seed), number_(first), drawn_(rng::philox_block(seed, 0, first / 4)) {}

  constexpr std::uint32_t next() noexcept {
    const std::uint32_t word = drawn_.word[number_ % 4];
    if (++number_ % 4 == 0) drawn_ = rng::philox_block(seed_, 0, number_ / 4);
    return word;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t number_;
  rng::words<4> drawn_;
};

}  // namespace troupe::dnn
