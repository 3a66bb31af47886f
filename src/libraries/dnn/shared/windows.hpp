#pragma once

#include "libraries/dnn/shared/quick_divisor.hpp"

#include <cstdint>

/// Windows of pooling, in one dimension of space. All of it is constexpr, so that kernels run the
/// same code. No number exceeds 2³¹ − 1: requests are refused otherwise.
namespace troupe::dnn {

/// The taps of a window that lie in the image, from `first` to before `end`; tap 0 is at `start`,
/// which may lie before the image.
struct tap_range {
  std::int32_t start = 0;
  std::int32_t first = 0;
  std::int32_t end = 0;

  [[nodiscard]] constexpr bool empty() const noexcept { return first >= end; }
  [[nodiscard]] constexpr bool has(std::int32_t tap) const noexcept {
    return tap >= first && tap < end;
  }
};
/// Windows, from `first` to before `end`, neither of which is less for a later place.
struct window_range {
  std::int32_t first = 0;
  std::int32_t end = 0;
};

/// ⌊a / b⌋ for numbers that are not negative, where `quick` divides by b.
[[nodiscard]] constexpr std::int32_t quotient_of(std::int64_t a, std::int64_t b,
                                                 const quick_divisor& quick) noexcept {
  if ((a | b) <= 0x7fffffff) {
    return static_cast<std::int32_t>(quick.divide(static_cast<std::uint32_t>(a)));
  }
  return static_cast<std::int32_t>(a / b);
}
/// ⌈a / b⌉.
[[nodiscard]] constexpr std::int64_t ceiling_of(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}

/// Windows of one length, some elements apart.
struct fixed_windows {
  static constexpr bool weighted = false;  ///< all factors are 1
  std::int32_t in = 1;
  std::int32_t out = 1;
  std::int32_t window = 1;
  std::int32_t stride = 1;
  std::int32_t dilation = 1;
  std::int32_t padding = 0;
  std::int32_t post_padding = 0;
  std::int32_t reach = 0;  ///< from the first tap to the last, or 2³¹ − 1
  bool count_padding = false;
  std::int32_t divides_by = 0;  ///< if not 0, the divisor of all windows
  quick_divisor by_stride{};
  quick_divisor by_dilation{};

  [[nodiscard]] constexpr tap_range taps_of(std::int32_t o) const noexcept {
    tap_range taps{.start = o * stride - padding, .end = 0};
    if (taps.start < 0) taps.first = steps_in(-taps.start - 1) + 1;
    if (taps.start >= in) return taps;
    const std::int32_t inside = steps_in(in - 1 - taps.start);
    taps.end = inside < window ? inside + 1 : window;
    return taps;
  }
  /// An average is the sum of its elements, each by its factor, by the product of the divisors.
  [[nodiscard]] constexpr std::int32_t divisor(const tap_range& taps) const noexcept {
    if (divides_by > 0) return divides_by;
    if (!count_padding) return taps.end - taps.first;
    const std::int32_t inside = steps_in(in + post_padding - 1 - taps.start);
    return inside < window ? inside + 1 : window;
  }
  template <class Real>
  [[nodiscard]] constexpr Real factor(std::int32_t, const tap_range&, std::int32_t) const noexcept {
    return 1;
  }
  /// The windows that may have place `i` as one of their taps.
  [[nodiscard]] constexpr window_range windows_of(std::int32_t i) const noexcept {
    const std::int32_t place = i + padding;
    const std::int32_t last = quotient(place, by_stride);
    return {.first = place > reach ? quotient(place - reach - 1, by_stride) + 1 : 0,
            .end = last < out ? last + 1 : out};
  }
  /// Windows that so many neighbouring places are in, at most.
  [[nodiscard]] constexpr std::int64_t most_windows(std::int64_t places) const noexcept {
    return (reach + places - 1) / stride + 1;
  }
  /// The tap so many places after tap 0; −1 if the place lies between two.
  [[nodiscard]] constexpr std::int32_t tap_after(std::int32_t places) const noexcept {
    const std::int32_t tap = quotient(places, by_dilation);
    return tap * dilation == places ? tap : -1;
  }
  /// The places of maxima are numbered in their window: as many as that has, of a tap, and of place
  /// `i` in window `o`, one of `windows_of(i)`; −1 if i lies between two taps.
  [[nodiscard]] constexpr std::int32_t numbers() const noexcept { return window; }
  [[nodiscard]] constexpr std::int32_t number(const tap_range&, std::int32_t tap) const noexcept {
    return tap;
  }
  [[nodiscard]] constexpr std::int32_t number_at(std::int32_t o, std::int32_t i) const noexcept {
    return tap_after(i + padding - o * stride);
  }

 private:
  [[nodiscard]] static constexpr std::int32_t quotient(std::int32_t n,
                                                       const quick_divisor& by) noexcept {
    return static_cast<std::int32_t>(by.divide(static_cast<std::uint32_t>(n)));
  }
  [[nodiscard]] constexpr std::int32_t steps_in(std::int32_t n) const noexcept {
    return quotient(n, by_dilation);
  }
};

/// Windows that divide the image among them.
struct adaptive_windows {
  std::int32_t in = 1;
  std::int32_t out = 1;
  quick_divisor by_in{};
  quick_divisor by_out{};
  static constexpr std::int32_t dilation = 1;
  static constexpr bool weighted = false;

  constexpr adaptive_windows() noexcept = default;
  constexpr adaptive_windows(std::int64_t of_image, std::int64_t of_response) noexcept
      : in(static_cast<std::int32_t>(of_image)),
        out(static_cast<std::int32_t>(of_response)),
        by_in(of_image),
        by_out(of_response) {}

  [[nodiscard]] constexpr tap_range taps_of(std::int32_t o) const noexcept {
    const std::int32_t start = quotient_of(std::int64_t{o} * in, out, by_out);
    const std::int64_t end = (o + std::int64_t{1}) * in + out - 1;
    return {.start = start, .end = quotient_of(end, out, by_out) - start};
  }
  [[nodiscard]] constexpr std::int32_t divisor(const tap_range& taps) const noexcept {
    return taps.end;
  }
  template <class Real>
  [[nodiscard]] constexpr Real factor(std::int32_t, const tap_range&, std::int32_t) const noexcept {
    return 1;
  }
  [[nodiscard]] constexpr window_range windows_of(std::int32_t i) const noexcept {
    const std::int64_t end = (i + std::int64_t{1}) * out + in - 1;
    return {.first = quotient_of(std::int64_t{i} * out, in, by_in),
            .end = quotient_of(end, in, by_in)};
  }
  /// Windows that so many neighbouring places are in, at most.
  [[nodiscard]] constexpr std::int64_t most_windows(std::int64_t places) const noexcept {
    return out == 1 ? 1 : ceiling_of(places * out, in) + 1;
  }
  [[nodiscard]] static constexpr std::int32_t tap_after(std::int32_t places) noexcept {
    return places;
  }
  /// The places of maxima are numbered in the image.
  [[nodiscard]] constexpr std::int32_t numbers() const noexcept { return in; }
  [[nodiscard]] constexpr std::int32_t number(const tap_range& taps,
                                              std::int32_t tap) const noexcept {
    return taps.start + tap;
  }
  [[nodiscard]] constexpr std::int32_t number_at(std::int32_t, std::int32_t i) const noexcept {
    return i;
  }
};

}  // namespace troupe::dnn
