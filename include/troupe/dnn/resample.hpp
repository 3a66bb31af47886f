#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// Images of other extents: each element of the result is interpolated between elements of the
/// image, in one, two and three dimensions of space.
///
/// Tensors are [n, c, space…], with any strides. Types: f64, f32, f16, bf16, one throughout; f16
/// and bf16 compute in f32. Gradients are sums in a fixed order: the same bits on every run of one
/// backend. n may be 0; all other extents are at least 1, those of space at most 2³⁰.
///
/// `scale` has no number, one, or one for each dimension of space: how many times as long the
/// result is. An empty list stands for out / in. It chooses positions only, so that out may be any
/// extent; a position outside of the image is moved to its end. A y that is left out has ⌊in ·
/// scale⌋ elements.
///
/// With `antialias` a result that is shorter than the image is made of all elements that it stands
/// for: `linear` and `cubic` are 1 / scale times as wide, and the weights of those within
/// the image are divided by their sum.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for a scale that is
/// not positive and finite, and where an interpolation takes no scale or has no antialiasing;
/// `unsupported` for an extent that is too long
namespace troupe::dnn {

/// The position of element o of `out` among the `in` elements of a dimension.
enum class interpolation : std::uint8_t {
  nearest,         ///< element ⌊(o + ½) / scale⌋, whose centre is nearest
  linear,          ///< at (o + ½) / scale − ½, between its two neighbours, or at the end
  linear_corners,  ///< at o · (in − 1) / (out − 1): the first and last elements coincide; no scale
  nearest_floor,   ///< element ⌊o / scale⌋
  cubic,           ///< where `linear` is, of four neighbours, with a = −¾; with antialias −½
  cubic_corners,   ///< the same where `linear_corners` is; no scale
  area,            ///< the average of ⌊o · in / out⌋ to ⌈(o + 1) · in / out⌉ − 1; no scale
};

/// y = x interpolated. In several dimensions it is interpolated along each: `linear` is bilinear
/// and trilinear. Source of `cubic`: Keys, "Cubic Convolution Interpolation for Digital Image
/// Processing", 1981; beyond an end of the image its last element goes on, without antialias.
///
/// Reads x [n, c, in…], writes y [n, c, out…].
struct TROUPE_EXPORT resample_forward {
  static constexpr std::string_view name = "dnn.resample_forward";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  dnn::interpolation interpolation = dnn::interpolation::nearest;
  std::vector<scalar> scale{};
  bool antialias = false;

  static void describe(description<resample_forward>& d);
};

/// The gradient of `resample_forward`: dx = Σ dy, with the weights that the element has in them.
///
/// Reads dy [n, c, out…], writes dx [n, c, in…].
struct TROUPE_EXPORT resample_backward {
  static constexpr std::string_view name = "dnn.resample_backward";
  using reply = void;

  any_tensor dy{};
  any_tensor dx{};
  dnn::interpolation interpolation = dnn::interpolation::nearest;
  std::vector<scalar> scale{};
  bool antialias = false;

  static void describe(description<resample_backward>& d);
};

}  // namespace troupe::dnn
