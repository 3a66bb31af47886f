#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace troupe::rng {

/// Sums of weights, formed in the same order everywhere: within blocks of `block` weights from the
/// first on, and of the blocks one after the other.
struct weight_sums {
  static constexpr std::int64_t block = 256;

  /// within[i]: the weights of i's block up to and including i.
  double* within = nullptr;
  /// before[b]: the blocks before block b; the last, before[blocks()], is the sum of all: NaN where
  /// a weight is negative or no number.
  double* before = nullptr;
  std::int64_t count = 0;

  [[nodiscard]] constexpr std::int64_t blocks() const noexcept { return (count - 1) / block + 1; }
  /// Room for `within` and `before`, one after the other.
  [[nodiscard]] static constexpr std::size_t bytes_for(std::int64_t count) noexcept {
    return static_cast<std::size_t>(count + (count - 1) / block + 2) * sizeof(double);
  }
  /// Precondition: count ≥ 1
  static constexpr weight_sums in(double* room, std::int64_t count) noexcept {
    return {room, room + count, count};
  }

  /// Sums up a block; the step between weights is in elements.
  template <class Weight>
  constexpr void add_block(std::int64_t number, const Weight* weights,
                           std::int64_t step) const noexcept {
    const std::int64_t first = number * block;
    const std::int64_t end = first + block < count ? first + block : count;
    double sum = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const auto weight = static_cast<double>(weights[i * step]);
      sum = weight >= 0 ? sum + weight : std::numeric_limits<double>::quiet_NaN();
      within[i] = sum;
    }
  }
  /// Once every block has been summed up.
  constexpr void add_blocks() const noexcept {
    double sum = 0;
    const std::int64_t last = blocks() - 1;
    for (std::int64_t b = 0; b <= last; ++b) {
      before[b] = sum;
      sum += within[b < last ? (b + 1) * block - 1 : count - 1];
    }
    before[last + 1] = sum;
  }

  [[nodiscard]] constexpr double total() const noexcept { return before[blocks()]; }
  [[nodiscard]] constexpr bool usable() const noexcept {
    return total() > 0 && total() <= std::numeric_limits<double>::max();
  }

  /// The first index whose sum is more than `part` of the total, 0 ≤ part < 1. Some index of the
  /// range, where the sums are not usable.
  [[nodiscard]] constexpr std::int64_t index_of(double part) const noexcept {
    const double wanted = part * total();
    std::int64_t low = 0;  // the last block that begins at or below it
    std::int64_t high = blocks();
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (before[middle] <= wanted ? low : high) = middle;
    }
    const double begin = before[low];
    std::int64_t first = low * block;
    std::int64_t last = (first + block < count ? first + block : count) - 1;
    while (first < last) {
      const std::int64_t middle = first + (last - first) / 2;
      if (begin + within[middle] > wanted) {
        last = middle;
      } else {
        first = middle + 1;
      }
    }
    return first;
  }
};

}  // namespace troupe::rng
