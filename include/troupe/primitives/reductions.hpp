#pragma once

#include <troupe/request/request.hpp>

/// Reductions of a vector, of any length and any stride of at least 1.
///
/// Types: all but the complex ones. Sums and products of f16, bf16, e4m3, e5m2 and f32 are
/// accumulated in f32, of f64 in f64, of integers and booleans in 64 bits, modulo 2^64. Minimum and
/// maximum are NaN if an element is NaN; −0 is below +0. The same request gives the same bits every
/// time on the same device.
namespace troupe::primitives {

/// How two numbers become one.
enum class combination : std::uint8_t { sum, product, minimum, maximum };

/// All elements combined; for none of them 0, 1, or the largest or smallest number of the type.
///
/// The number is the reply. If `result` is given, it is written to that one-element tensor instead,
/// and the reply is zero. `result` has the type of x; a sum or product may also have the type it is
/// accumulated in (f32, f64, i64, u64), and of booleans must have i64.
struct TROUPE_EXPORT reduce {
  static constexpr std::string_view name = "primitives.reduce";
  using reply = scalar;

  any_tensor x{};
  any_tensor result{};
  combination op = combination::sum;

  static void describe(description<reduce>& d);
};

/// The index of the smallest element, from 0; of several, the first. A NaN is smaller than any
/// number. −1 for no elements.
///
/// The index is the reply. If `result`, an i64, is given, it is written there instead, and the
/// reply is 0.
struct TROUPE_EXPORT argmin {
  static constexpr std::string_view name = "primitives.argmin";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor result{};

  static void describe(description<argmin>& d);
};

/// The index of the largest element, from 0; of several, the first. A NaN is larger than any
/// number. −1 for no elements.
///
/// The index is the reply. If `result`, an i64, is given, it is written there instead, and the
/// reply is 0.
struct TROUPE_EXPORT argmax {
  static constexpr std::string_view name = "primitives.argmax";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor result{};

  static void describe(description<argmax>& d);
};

/// Each segment of a vector combined: y[i] is what `reduce` gives for the elements
/// offsets[i] … offsets[i + 1] − 1 of x.
///
/// y has the types that `reduce::result` may have. Errors: `invalid_argument`, detected when it
/// runs, if the offsets (i64) are not ascending numbers from 0 to x's length; what y holds then is
/// unspecified.
struct TROUPE_EXPORT segmented_reduce {
  static constexpr std::string_view name = "primitives.segmented_reduce";
  using reply = void;

  any_tensor x{};
  any_tensor offsets{};
  any_tensor y{};
  combination op = combination::sum;

  static void describe(description<segmented_reduce>& d);
};

}  // namespace troupe::primitives
