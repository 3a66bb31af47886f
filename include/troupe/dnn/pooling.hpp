#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// Pooling in one, two and three dimensions of space: each element of the result is made of the
/// elements of the image in a window.
///
/// Extents are those of the mathematics, [n, c, space…], whatever the order in memory; any strides.
/// Fastest are tensors whose channels, or whose last dimension of space, are contiguous.
///
/// `window`, `stride` (`window` where empty), `dilation` (1 where empty), `padding` (0 where empty)
/// and `post_padding` (as `padding` where empty) have one number for each dimension of space, or
/// one for all of them. Window o of a dimension covers the places o · stride − padding + t ·
/// dilation, with t from 0 to window − 1. There are ⌊(in + padding + post_padding − dilation ·
/// (window − 1) − 1) / stride⌋ + 1 windows; with `ceil_mode` ⌈…⌉ + 1, of which none begins after
/// the image and its padding in front.
///
/// Padding is nothing: no element of a window lies in it. A window of padding alone has the maximum
/// −∞ and the average 0.
///
/// Types: f64, f32, f16, bf16, one throughout; sums in f64 for f64, else in f32. Gradients are sums
/// in a fixed order: the same bits on every run of one backend.
///
/// n may be 0; all other extents are at least 1, and those of a padded image at most 2³¹ − 1.
///
/// \errors `shape_mismatch` for extents that do not go together; `type_mismatch`, `aliasing`;
/// `invalid_argument` for a number out of its range; `unsupported` for a padded image that is too
/// long
namespace troupe::dnn {

/// y = the largest element of each window; NaN if there is one.
///
/// Reads x [n, c, in…], writes y [n, c, out…], and `places` [n, c, out…] if given: the index, in
/// row-major order of the window, of its maximum, the first one of several, or the first NaN. A u8
/// index takes windows of up to 255 elements, an i32 index all; a window of padding alone has 255,
/// or −1.
struct TROUPE_EXPORT max_pool_forward {
  static constexpr std::string_view name = "dnn.max_pool_forward";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor places{};  ///< may be left out
  std::vector<std::int64_t> window{};
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> dilation{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  bool ceil_mode = false;

  static void describe(description<max_pool_forward>& d);
};

/// The gradient of `max_pool_forward`: dx = Σ dy over the windows whose maximum the element is.
///
/// Reads dy [n, c, out…] and `places` as forward wrote it, writes dx [n, c, in…]. A number that the
/// window has no place for points to nothing.
struct TROUPE_EXPORT max_pool_backward {
  static constexpr std::string_view name = "dnn.max_pool_backward";
  using reply = void;

  any_tensor dy{};
  any_tensor places{};
  any_tensor dx{};
  std::vector<std::int64_t> window{};
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> dilation{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  bool ceil_mode = false;

  static void describe(description<max_pool_backward>& d);
};

/// y = the sum of each window's elements by their number, or with `count_padding` by the number of
/// the window's places in the padded image, or by `divisor` where it is not 0.
///
/// Reads x [n, c, in…], writes y [n, c, out…].
struct TROUPE_EXPORT average_pool_forward {
  static constexpr std::string_view name = "dnn.average_pool_forward";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  std::vector<std::int64_t> window{};
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  bool ceil_mode = false;
  bool count_padding = false;
  std::vector<std::int64_t> dilation{};
  std::int64_t divisor = 0;

  static void describe(description<average_pool_forward>& d);
};

/// The gradient of `average_pool_forward`: dx = Σ dy by the same divisors, over the windows that
/// the element is in.
///
/// Reads dy [n, c, out…], writes dx [n, c, in…].
struct TROUPE_EXPORT average_pool_backward {
  static constexpr std::string_view name = "dnn.average_pool_backward";
  using reply = void;

  any_tensor dy{};
  any_tensor dx{};
  std::vector<std::int64_t> window{};
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  bool ceil_mode = false;
  bool count_padding = false;
  std::vector<std::int64_t> dilation{};
  std::int64_t divisor = 0;

  static void describe(description<average_pool_backward>& d);
};

/// The average over windows that follow from the extents: window o of a dimension covers the places
/// from ⌊o · in / out⌋ to ⌈(o + 1) · in / out⌉ − 1. With out = 1 it is the average of all of space.
///
/// Reads x [n, c, in…], writes y [n, c, out…].
struct TROUPE_EXPORT adaptive_average_pool_forward {
  static constexpr std::string_view name = "dnn.adaptive_average_pool_forward";
  using reply = void;

  any_tensor x{};
  any_tensor y{};

  static void describe(description<adaptive_average_pool_forward>& d);
};

/// The gradient of `adaptive_average_pool_forward`.
///
/// Reads dy [n, c, out…], writes dx [n, c, in…].
struct TROUPE_EXPORT adaptive_average_pool_backward {
  static constexpr std::string_view name = "dnn.adaptive_average_pool_backward";
  using reply = void;

  any_tensor dy{};
  any_tensor dx{};

  static void describe(description<adaptive_average_pool_backward>& d);
};

/// y = the largest element of each window of `adaptive_average_pool_forward`; NaN if there is one.
///
/// Reads x [n, c, in…], writes y [n, c, out…], and `places` [n, c, out…] (i32) if given: the index,
/// in row-major order of the image's space, of the maximum, the first one of several, or the first
/// NaN. Then the space has at most 2³¹ − 1 elements.
struct TROUPE_EXPORT adaptive_max_pool_forward {
  static constexpr std::string_view name = "dnn.adaptive_max_pool_forward";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor places{};  ///< may be left out

  static void describe(description<adaptive_max_pool_forward>& d);
};

/// The gradient of `adaptive_max_pool_forward`: dx = Σ dy over the windows whose maximum the
/// element is.
///
/// Reads dy [n, c, out…] and `places` as forward wrote it, writes dx [n, c, in…]. An index outside
/// of the window points to nothing.
struct TROUPE_EXPORT adaptive_max_pool_backward {
  static constexpr std::string_view name = "dnn.adaptive_max_pool_backward";
  using reply = void;

  any_tensor dy{};
  any_tensor places{};
  any_tensor dx{};

  static void describe(description<adaptive_max_pool_backward>& d);
};

}  // namespace troupe::dnn
