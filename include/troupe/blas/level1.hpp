#pragma once

#include <troupe/request/request.hpp>

/// BLAS level 1: vectors.
///
/// A vector is a view of rank 1 with any stride of at least 1. Vectors of one request have the same
/// length; length 0 does nothing. A vector that is written must not share elements with any other
/// operand (`errc::aliasing`). Other errors: `shape_mismatch`, `type_mismatch`,
/// `layout_unsupported`, and `invalid_argument` for an imaginary factor of a real type.
namespace troupe::blas {

/// Adds a multiple of a vector to another: y = alpha · x + y.
///
/// Updates y; reads x unless alpha is zero. Types: f32, f64, c64, c128; f16 and bf16, computed in
/// f32. Source: BLAS xAXPY.
struct TROUPE_EXPORT axpy {
  static constexpr std::string_view name = "blas.axpy";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;

  static void describe(description<axpy>& d);
};

/// Adds multiples of two vectors: y = alpha · x + beta · y.
///
/// Updates y, or overwrites it if beta is zero; reads x unless alpha is zero. Types: f32, f64, c64,
/// c128; f16 and bf16, computed in f32. Source: the BLAS Technical Forum's AXPBY.
struct TROUPE_EXPORT axpby {
  static constexpr std::string_view name = "blas.axpby";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  scalar alpha = 1;
  scalar beta = 1;

  static void describe(description<axpby>& d);
};

/// Multiplies a vector by a factor: x = alpha · x.
///
/// Updates x; NaNs stay NaNs, also with alpha = 0. Types: f32, f64, c64, c128; f16 and bf16,
/// computed in f32. Source: BLAS xSCAL.
struct TROUPE_EXPORT scal {
  static constexpr std::string_view name = "blas.scal";
  using reply = void;

  any_tensor x{};
  scalar alpha = 1;

  static void describe(description<scal>& d);
};

/// Copies a vector: y = x, or, `reversed`, yᵢ = xₙ₋₁₋ᵢ.
///
/// Reads x, writes y. Strides are never negative; use `reversed` in place of BLAS's negative
/// increments. Types: f32, f64, c64, c128. Source: BLAS xCOPY; `memory::copy` takes any shape.
struct TROUPE_EXPORT copy {
  static constexpr std::string_view name = "blas.copy";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  bool reversed = false;

  static void describe(description<copy>& d);
};

/// Exchanges two vectors.
///
/// Updates both. Types: f32, f64, c64, c128. Source: BLAS xSWAP.
struct TROUPE_EXPORT swap {
  static constexpr std::string_view name = "blas.swap";
  using reply = void;

  any_tensor x{};
  any_tensor y{};

  static void describe(description<swap>& d);
};

}  // namespace troupe::blas
