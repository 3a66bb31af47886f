#pragma once

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
};
/// Windows, from `first` to before `end`.
struct window_range {
  std::int32_t first = 0;
  std::int32_t end = 0;
};

/// ⌊a / b⌋ for numbers that are not negative.
[[nodiscard]] constexpr std::int32_t quotient_of(std::int64_t a, std::int64_t b) noexcept {
  // A GPU divides 32 bits faster.
  if ((a | b) <= 0x7fffffff) return static_cast<std::int32_t>(a) / static_cast<std::int32_t>(b);
  return static_cast<std::int32_t>(a / b);
}

/// Windows of one length, some elements apart.
struct fixed_windows {
  std::int32_t in = 1;
  std::int32_t out = 1;
  std::int32_t window = 1;
  std::int32_t stride = 1;
  std::int32_t dilation = 1;
  std::int32_t padding = 0;
  std::int32_t post_padding = 0;
  std::int32_t reach = 0;  ///< from the first tap to the last, or 2³¹ − 1
  bool count_padding = false;

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
    if (!count_padding) return taps.end - taps.first;
    const std::int32_t room = in + post_padding - taps.start;
    return room < window ? room : window;
  }
  template <class Real>
  [[nodiscard]] constexpr Real factor(std::int32_t, const tap_range&, std::int32_t) const noexcept {
    return 1;
  }
  /// The windows that may have place `i` as one of their taps.
  [[nodiscard]] constexpr window_range windows_of(std::int32_t i) const noexcept {
    const std::int32_t place = i + padding;
    const std::int32_t last = place / stride;
    return {.first = place > reach ? (place - reach - 1) / stride + 1 : 0,
            .end = last < out ? last + 1 : out};
  }
  /// The tap of window `o`, one of `windows_of(i)`, at place `i`; −1 if i lies between two.
  [[nodiscard]] constexpr std::int32_t tap_at(std::int32_t o, std::int32_t i) const noexcept {
    const std::int32_t from_start = i + padding - o * stride;
    if (dilation == 1) return from_start;
    return from_start % dilation == 0 ? from_start / dilation : -1;
  }

 private:
  /// Most windows are not dilated, and a division is slow.
  [[nodiscard]] constexpr std::int32_t steps_in(std::int32_t n) const noexcept {
    return dilation == 1 ? n : n / dilation;
  }
};

/// Windows that divide the image among them.
struct adaptive_windows {
  std::int32_t in = 1;
  std::int32_t out = 1;
  static constexpr std::int32_t dilation = 1;

  [[nodiscard]] constexpr tap_range taps_of(std::int32_t o) const noexcept {
    const std::int32_t start = floor_of(o, in, out);
    return {.start = start, .end = floor_of(o + 1, in, out, out - 1) - start};
  }
  [[nodiscard]] constexpr std::int32_t divisor(const tap_range& taps) const noexcept {
    return taps.end;
  }
  template <class Real>
  [[nodiscard]] constexpr Real factor(std::int32_t, const tap_range&, std::int32_t) const noexcept {
    return 1;
  }
  [[nodiscard]] constexpr window_range windows_of(std::int32_t i) const noexcept {
    return {.first = floor_of(i, out, in), .end = floor_of(i + 1, out, in, in - 1)};
  }
  [[nodiscard]] constexpr std::int32_t tap_at(std::int32_t o, std::int32_t i) const noexcept {
    return i - taps_of(o).start;
  }

 private:
  /// ⌊(a · b + more) / c⌋, which for `more` = c − 1 is ⌈a · b / c⌉.
  [[nodiscard]] static constexpr std::int32_t floor_of(std::int32_t a, std::int32_t b,
                                                       std::int32_t c,
                                                       std::int32_t more = 0) noexcept {
    return quotient_of(std::int64_t{a} * b + more, c);
  }
};

}  // namespace troupe::dnn
