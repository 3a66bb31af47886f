#pragma once

#include "libraries/dnn/requests/geometry.hpp"
#include "libraries/dnn/shared/image_view.hpp"
#include "libraries/dnn/shared/windows.hpp"

#include <troupe/dnn/resample.hpp>

#include <array>
#include <cstddef>

namespace troupe::dnn {

/// Interpolation along one dimension, of any kind: the taps of each sample and their factors, for
/// tables. All of it is constexpr, so that kernels run the same code. Positions are computed in
/// f64, those without a scale of whole numbers.
struct sampled_axis {
  std::int32_t in = 1;
  std::int32_t out = 1;
  interpolation how = interpolation::nearest;
  bool antialias = false;
  double scale = 0;  ///< 0: out / in

  /// Taps of a sample at most.
  [[nodiscard]] constexpr std::int32_t most_taps() const noexcept {
    if (how == interpolation::area) return in / out + 2 < in ? in / out + 2 : in;
    const double most = 2 * reach() + 1;
    return most < in ? static_cast<std::int32_t>(most) : in;
  }
  /// The elements that sample `o` is made of, some with the factor 0. Neither end is less for a
  /// later sample.
  [[nodiscard]] constexpr tap_range range_of(std::int32_t o) const noexcept {
    if (how == interpolation::area) return adaptive_windows(in, out).taps_of(o);
    const double at = place(o);
    std::int32_t first = floor_of(at);
    std::int32_t last = first;
    if (antialias) {
      first = floor_of(at - reach() + 1);
      last = floor_of(at + reach());
    } else if (!is_nearest()) {
      const std::int32_t beside = is_cubic() ? 1 : 0;
      first -= beside;
      last += 1 + beside;
    }
    first = inside(first);
    return {.start = first, .end = inside(last) - first + 1};
  }
  /// Writes the factors of sample `o`, without those of 0 at either end, and returns its taps.
  template <class Real>
  constexpr tap_range sample(std::int32_t o, Real* factors) const noexcept {
    tap_range taps = range_of(o);
    if (is_nearest() || how == interpolation::area) {
      for (std::int32_t t = 0; t < taps.end; ++t)
        factors[t] = Real{1} / static_cast<Real>(taps.end);
      return taps;
    }
    weigh(o, taps, factors);
    while (taps.end > 1 && factors[taps.end - 1] == 0)
      --taps.end;
    std::int32_t zeros = 0;
    while (zeros + 1 < taps.end && factors[zeros] == 0)
      ++zeros;
    for (std::int32_t t = zeros; t < taps.end && zeros > 0; ++t)
      factors[t - zeros] = factors[t];
    return {.start = taps.start + zeros, .end = taps.end - zeros};
  }
  /// The samples that may be made of element `i`.
  [[nodiscard]] constexpr window_range samples_of(std::int32_t i) const noexcept {
    return {.first = first_sample([&](const tap_range& t) { return t.start + t.end > i; }),
            .end = first_sample([&](const tap_range& t) { return t.start > i; })};
  }

 private:
  [[nodiscard]] constexpr bool is_nearest() const noexcept {
    return how == interpolation::nearest || how == interpolation::nearest_floor;
  }
  [[nodiscard]] constexpr bool is_cubic() const noexcept {
    return how == interpolation::cubic || how == interpolation::cubic_corners;
  }
  /// How many times as wide the kernel is: with antialiasing as a sample.
  [[nodiscard]] constexpr double width() const noexcept {
    const double of_sample = scale > 0 ? 1 / scale : static_cast<double>(in) / out;
    return antialias && of_sample > 1 ? of_sample : 1;
  }
  [[nodiscard]] constexpr double reach() const noexcept { return (is_cubic() ? 2 : 1) * width(); }

  /// The place of sample `o`, where element i is at i. The nearest kinds take element ⌊place⌋; they
  /// have a scale, unless there is one element only.
  [[nodiscard]] constexpr double place(std::int32_t o) const noexcept {
    const std::int64_t twice = 2 * std::int64_t{o} + 1;
    double at = 0;
    if (how == interpolation::cubic_corners) {
      at = out == 1 ? 0 : static_cast<double>(std::int64_t{o} * (in - 1)) / (out - 1);
    } else if (how == interpolation::nearest_floor) {
      at = o / scale;
    } else if (scale > 0) {
      at = static_cast<double>(twice) / 2 / scale - (is_nearest() ? 0 : 0.5);
    } else {
      at = static_cast<double>(twice * in - out) / static_cast<double>(2 * std::int64_t{out});
    }
    // Beyond an end the last element goes on, so no place is farther than its neighbours.
    const double margin = antialias ? 0.5 : 3;
    if (at < -margin) return -margin;
    const double most = in - 1 + margin;
    return at < most ? at : most;
  }
  [[nodiscard]] static constexpr std::int32_t floor_of(double x) noexcept {
    const auto whole = static_cast<std::int64_t>(x);
    const std::int64_t below = static_cast<double>(whole) > x ? whole - 1 : whole;
    constexpr std::int64_t most = std::int64_t{1} << 30;
    return static_cast<std::int32_t>(below < -most ? -most : below < most ? below : most);
  }
  [[nodiscard]] constexpr std::int32_t inside(std::int32_t i) const noexcept {
    return i < 0 ? 0 : i < in ? i : in - 1;
  }

  [[nodiscard]] constexpr double kernel(double distance) const noexcept {
    const double x = distance < 0 ? -distance : distance;
    if (!is_cubic()) return x < 1 ? 1 - x : 0;
    const double a = antialias ? -0.5 : -0.75;
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }
  template <class Real>
  constexpr void weigh(std::int32_t o, const tap_range& taps, Real* factors) const noexcept {
    const double at = place(o);
    const double wide = width();
    if (antialias) {
      double sum = 0;
      for (std::int32_t t = 0; t < taps.end; ++t)
        sum += kernel((taps.start + t - at) / wide);
      for (std::int32_t t = 0; t < taps.end; ++t)
        factors[t] = static_cast<Real>(kernel((taps.start + t - at) / wide) / sum);
      return;
    }
    for (std::int32_t t = 0; t < taps.end; ++t)
      factors[t] = 0;
    const std::int32_t beside = is_cubic() ? 1 : 0;
    const std::int32_t middle = floor_of(at);
    for (std::int32_t i = middle - beside; i <= middle + 1 + beside; ++i)
      factors[inside(i) - taps.start] += static_cast<Real>(kernel(i - at));
  }
  /// The first sample whose range satisfies a predicate that holds for all later ones, too.
  template <class Predicate>
  [[nodiscard]] constexpr std::int32_t first_sample(Predicate holds) const noexcept {
    std::int32_t begin = 0;
    std::int32_t end = out;
    while (begin < end) {
      const std::int32_t middle = begin + (end - begin) / 2;
      if (holds(range_of(middle))) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    return begin;
  }
};

/// The axes of a request, of three dimensions of space, of which those that are missing come first.
template <class R>
[[nodiscard]] std::array<sampled_axis, most_space> sampled_axes(
    const R& r, const any_tensor& image, const any_tensor& response) noexcept {
  const image_extents in(image);
  const image_extents out(response);
  std::array<sampled_axis, most_space> axes;
  const int missing = most_space + 2 - image.rank();
  for (int d = missing; d < most_space; ++d) {
    const std::size_t own = r.scale.size() == 1 ? 0 : static_cast<std::size_t>(d - missing);
    axes[static_cast<std::size_t>(d)] = {
        .in = static_cast<std::int32_t>(in.space[d]),
        .out = static_cast<std::int32_t>(out.space[d]),
        .how = r.interpolation,
        .antialias = r.antialias,
        .scale = r.scale.empty() ? 0 : r.scale[own].template as<double>()};
  }
  return axes;
}

/// Samples along one dimension as windows whose taps and factors are tables.
struct tabled_samples {
  std::int32_t in = 1;
  std::int32_t out = 1;
  std::int32_t most_taps = 1;
  tap_range* taps = nullptr;        ///< [out]
  window_range* windows = nullptr;  ///< [in]
  void* factors = nullptr;          ///< [out, most_taps], of the type of sums
  static constexpr std::int32_t dilation = 1;
  static constexpr bool weighted = true;

  constexpr tabled_samples() noexcept = default;
  explicit constexpr tabled_samples(const sampled_axis& axis) noexcept
      : in(axis.in), out(axis.out), most_taps(axis.most_taps()) {}

  /// Fills the entries number `i` of the tables, which exist up to the larger of `in` and `out`.
  template <class Real>
  constexpr void fill(const sampled_axis& axis, std::int32_t i) const noexcept {
    if (i < out) {
      Real* const own = static_cast<Real*>(factors) + std::int64_t{i} * most_taps;
      taps[i] = axis.sample(i, own);
    }
    if (i < in) windows[i] = axis.samples_of(i);
  }

  [[nodiscard]] constexpr tap_range taps_of(std::int32_t o) const noexcept { return taps[o]; }
  [[nodiscard]] constexpr std::int32_t divisor(const tap_range&) const noexcept { return 1; }
  [[nodiscard]] static constexpr std::int32_t tap_after(std::int32_t places) noexcept {
    return places;
  }
  template <class Real>
  [[nodiscard]] constexpr Real factor(std::int32_t o, const tap_range&,
                                      std::int32_t tap) const noexcept {
    return static_cast<const Real*>(factors)[std::int64_t{o} * most_taps + tap];
  }
  [[nodiscard]] constexpr window_range windows_of(std::int32_t i) const noexcept {
    return windows[i];
  }
};

}  // namespace troupe::dnn
