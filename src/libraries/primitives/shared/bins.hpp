#pragma once

#include <cstdint>

namespace troupe::primitives {

/// Bins of equal width. The same bits on every backend, if products and sums are rounded one by
/// one.
class even_bins {
 public:
  constexpr even_bins(double lower, double upper, std::int64_t bins) noexcept
      : lower_(lower),
        upper_(upper),
        scale_(static_cast<double>(bins) / (upper - lower)),
        bins_(bins) {}

  /// The bin of a value; −1 for none.
  [[nodiscard]] constexpr std::int64_t bin_of(double value) const noexcept {
    if (!(value >= lower_ && value < upper_)) return -1;
    const double place = (value - lower_) * scale_;
    // Rounding may reach the end, and an infinite scale (of a tiny width) anything.
    if (!(place < static_cast<double>(bins_))) return bins_ - 1;
    return static_cast<std::int64_t>(place);
  }

 private:
  double lower_;
  double upper_;
  double scale_;
  std::int64_t bins_;
};

/// Bins between ascending edges, one more than bins.
class edged_bins {
 public:
  constexpr edged_bins(const double* edges, std::int64_t step, std::int64_t bins) noexcept
      : edges_(edges), step_(step), bins_(bins) {}

  /// The bin of a value; −1 for none. Ends in a bin or −1 whatever the edges are.
  [[nodiscard]] constexpr std::int64_t bin_of(double value) const noexcept {
    if (bins_ == 0 || !(value >= edges_[0] && value < edges_[bins_ * step_])) return -1;
    // edges[low] ≤ value < edges[high]
    std::int64_t low = 0;
    std::int64_t high = bins_;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (value >= edges_[middle * step_] ? low : high) = middle;
    }
    return low;
  }

 private:
  const double* edges_;
  std::int64_t step_;
  std::int64_t bins_;
};

}  // namespace troupe::primitives
