#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// Images of other extents: each element of the result is interpolated between elements of the
/// image, in one, two and three dimensions of space.
///
/// Tensors are [n, c, space…], with any strides. Types: f64, f32, f16, bf16, one throughout; f16
/// and bf16 compute in f32. Gradients are sums in a fixed order: the same bits on every run of one
/// backend. n may be 0; all other extents are at least 1, those of space at most 2³⁰.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `unsupported` for an extent that is too
/// long
namespace troupe::dnn {

/// The position of element o of `out` among the `in` elements of a dimension.
enum class interpolation : std::uint8_t {
  nearest,         ///< element ⌊(o + ½) · in / out⌋, whose centre is nearest
  linear,          ///< at (o + ½) · in / out − ½, between its two neighbours, or at the end
  linear_corners,  ///< at o · (in − 1) / (out − 1): the first and last elements coincide
};

/// y = x interpolated. In several dimensions `linear` is bilinear and trilinear.
///
/// Reads x [n, c, in…], writes y [n, c, out…].
struct TROUPE_EXPORT resample_forward {
  static constexpr std::string_view name = "dnn.resample_forward";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  dnn::interpolation interpolation = dnn::interpolation::nearest;

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

  static void describe(description<resample_backward>& d);
};

}  // namespace troupe::dnn
