#pragma once

#include "libraries/dnn/shared/windows.hpp"

#include <troupe/dnn/resample.hpp>

namespace troupe::dnn {

/// Elements that are interpolated between those of an image, in one dimension: as windows of one or
/// two taps, whose factors add up to 1. All of it is constexpr, so that kernels run the same code.
///
/// Places are fractions of whole numbers, so that nothing is rounded before the factors.
struct interpolated_samples {
  std::int32_t in = 1;
  std::int32_t out = 1;
  interpolation how = interpolation::nearest;
  static constexpr std::int32_t dilation = 1;

  [[nodiscard]] constexpr tap_range taps_of(std::int32_t o) const noexcept {
    const std::int32_t start = quotient_of(numerator(o), denominator());
    return {.start = start, .end = how == interpolation::nearest || start + 1 == in ? 1 : 2};
  }
  [[nodiscard]] constexpr std::int32_t divisor(const tap_range&) const noexcept { return 1; }
  template <class Real>
  [[nodiscard]] constexpr Real factor(std::int32_t o, const tap_range& taps,
                                      std::int32_t tap) const noexcept {
    if (taps.end == 1) return 1;
    const std::int64_t rest = numerator(o) - taps.start * denominator();
    return static_cast<Real>(tap == 0 ? denominator() - rest : rest) /
           static_cast<Real>(denominator());
  }
  /// The samples that have place `i` as a tap.
  [[nodiscard]] constexpr window_range windows_of(std::int32_t i) const noexcept {
    switch (how) {
      case interpolation::nearest:
        return {.first = first_at(2 * std::int64_t{i}), .end = end_at(i, 2 * std::int64_t{i} + 2)};
      case interpolation::linear:
        return {.first = first_at(2 * std::int64_t{i} - 1),
                .end = end_at(i, 2 * std::int64_t{i} + 3)};
      default:
        if (in == 1 || out == 1) return {.first = 0, .end = i == 0 ? out : 0};
        return {.first = i == 0 ? 0 : ceiling_of((i - std::int64_t{1}) * (out - 1), in - 1),
                .end = i == in - 1 ? out : ceiling_of((i + std::int64_t{1}) * (out - 1), in - 1)};
    }
  }
  [[nodiscard]] constexpr std::int32_t tap_at(std::int32_t o, std::int32_t i) const noexcept {
    return i - taps_of(o).start;
  }

 private:
  /// The place of sample `o` is numerator / denominator.
  [[nodiscard]] constexpr std::int64_t numerator(std::int32_t o) const noexcept {
    if (how == interpolation::linear_corners) return std::int64_t{o} * (in - 1);
    const std::int64_t centre = (2 * std::int64_t{o} + 1) * in;
    if (how == interpolation::nearest) return centre;
    return centre < out ? 0 : centre - out;
  }
  [[nodiscard]] constexpr std::int64_t denominator() const noexcept {
    if (how == interpolation::linear_corners) return out == 1 ? 1 : out - 1;
    return 2 * std::int64_t{out};
  }
  [[nodiscard]] static constexpr std::int32_t ceiling_of(std::int64_t a, std::int64_t b) noexcept {
    return quotient_of(a + b - 1, b);
  }
  /// The first sample o with (2 · o + 1) · in ≥ halves · out.
  [[nodiscard]] constexpr std::int32_t first_at(std::int64_t halves) const noexcept {
    const std::int64_t above = halves * out - in;
    return above <= 0 ? 0 : ceiling_of(above, 2 * std::int64_t{in});
  }
  [[nodiscard]] constexpr std::int32_t end_at(std::int32_t i, std::int64_t halves) const noexcept {
    if (i == in - 1) return out;
    const std::int32_t end = first_at(halves);
    return end < out ? end : out;
  }
};

}  // namespace troupe::dnn
