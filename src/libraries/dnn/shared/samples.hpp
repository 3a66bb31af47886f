#pragma once

#include "libraries/dnn/shared/windows.hpp"

#include <troupe/dnn/resample.hpp>

namespace troupe::dnn {

/// Elements that are interpolated between those of an image, in one dimension: as windows of one or
/// two taps, whose factors add up to 1; none is 0, because 0 times an infinity would be NaN. All of
/// it is constexpr, so that kernels run the same code.
///
/// Places are fractions of whole numbers, so that nothing is rounded before the factors.
struct interpolated_samples {
  /// A request of these needs no table of weights.
  template <class R>
  [[nodiscard]] static bool are(const R& r) noexcept {
    return r.scale.empty() && !r.antialias && r.interpolation <= interpolation::nearest_floor;
  }

  std::int32_t in = 1;
  std::int32_t out = 1;
  interpolation how = interpolation::nearest;
  quick_divisor by_in{};  ///< by what places of samples are divided in the other direction
  quick_divisor by_out{};
  static constexpr std::int32_t dilation = 1;
  static constexpr bool weighted = true;

  constexpr interpolated_samples() noexcept = default;
  constexpr interpolated_samples(std::int64_t of_image, std::int64_t of_response,
                                 interpolation kind) noexcept
      : in(static_cast<std::int32_t>(of_image)),
        out(static_cast<std::int32_t>(of_response)),
        how(kind),
        by_in(of_places(of_image)),
        by_out(of_places(of_response)) {}

  [[nodiscard]] constexpr tap_range taps_of(std::int32_t o) const noexcept {
    const std::int64_t at = numerator(o);
    const std::int32_t start = quotient_of(at, of_places(out), by_out);
    const bool one = is_nearest() || start + 1 == in || start * of_places(out) == at;
    return {.start = start, .end = one ? 1 : 2};
  }
  [[nodiscard]] constexpr std::int32_t divisor(const tap_range&) const noexcept { return 1; }
  [[nodiscard]] static constexpr std::int32_t tap_after(std::int32_t places) noexcept {
    return places;
  }
  template <class Real>
  [[nodiscard]] constexpr Real factor(std::int32_t o, const tap_range& taps,
                                      std::int32_t tap) const noexcept {
    if (taps.end == 1) return 1;
    const std::int64_t whole = of_places(out);
    const std::int64_t rest = numerator(o) - taps.start * whole;
    return static_cast<Real>(tap == 0 ? whole - rest : rest) / static_cast<Real>(whole);
  }
  /// The samples that have place `i` as a tap.
  [[nodiscard]] constexpr window_range windows_of(std::int32_t i) const noexcept {
    switch (how) {
      case interpolation::nearest:
      case interpolation::nearest_floor:
        return {.first = first_at(2 * std::int64_t{i}), .end = end_at(i, 2 * std::int64_t{i} + 2)};
      case interpolation::linear:
        return {.first = first_at(2 * std::int64_t{i} - 1, 1),
                .end = end_at(i, 2 * std::int64_t{i} + 3)};
      default:
        if (in == 1 || out == 1) return {.first = i == 0 ? 0 : out, .end = out};
        return {.first = i == 0 ? 0 : above((i - std::int64_t{1}) * (out - 1) + 1),
                .end = i == in - 1 ? out : above((i + std::int64_t{1}) * (out - 1))};
    }
  }
  /// Samples that have one of so many neighbouring places as a tap, at most.
  [[nodiscard]] constexpr std::int64_t most_windows(std::int64_t places) const noexcept {
    if (in == 1 || out == 1) return out;
    switch (how) {
      case interpolation::nearest:
      case interpolation::nearest_floor:
        return ceiling_of(places * out, in);
      case interpolation::linear:
        return ceiling_of((places + 1) * out, in);
      default:
        return ceiling_of((places + 1) * (out - std::int64_t{1}), in - 1);
    }
  }

 private:
  [[nodiscard]] constexpr bool is_nearest() const noexcept {
    return how == interpolation::nearest || how == interpolation::nearest_floor;
  }
  /// The place of sample `o` is numerator / of_places(out).
  [[nodiscard]] constexpr std::int64_t numerator(std::int32_t o) const noexcept {
    if (how == interpolation::linear_corners) return std::int64_t{o} * (in - 1);
    if (how == interpolation::nearest_floor) return 2 * std::int64_t{o} * in;
    const std::int64_t centre = (2 * std::int64_t{o} + 1) * in;
    if (how == interpolation::nearest) return centre;
    return centre < out ? 0 : centre - out;
  }
  [[nodiscard]] constexpr std::int64_t of_places(std::int64_t extent) const noexcept {
    if (how == interpolation::linear_corners) return extent == 1 ? 1 : extent - 1;
    return 2 * extent;
  }
  /// ⌈a / of_places(in)⌉.
  [[nodiscard]] constexpr std::int32_t above(std::int64_t a) const noexcept {
    return quotient_of(a + of_places(in) - 1, of_places(in), by_in);
  }
  /// The first sample o with (2 · o + 1) · in ≥ halves · out + more; of `nearest_floor` 2 · o · in.
  [[nodiscard]] constexpr std::int32_t first_at(std::int64_t halves,
                                                std::int64_t more = 0) const noexcept {
    const std::int64_t rest = halves * out + more - (how == interpolation::nearest_floor ? 0 : in);
    return rest <= 0 ? 0 : above(rest);
  }
  [[nodiscard]] constexpr std::int32_t end_at(std::int32_t i, std::int64_t halves) const noexcept {
    if (i == in - 1) return out;
    const std::int32_t end = first_at(halves);
    return end < out ? end : out;
  }
};

}  // namespace troupe::dnn
