#pragma once

#include <troupe/request/request.hpp>

/// Sorting of vectors, of any length and any stride of at least 1.
///
/// Keys have any type but the complex ones. Numbers ascend from −∞ to +∞, with −0 before +0; behind
/// them come NaNs, first those without the sign bit, and NaNs of the same sign by their bits. No
/// bit of a key changes, except that a boolean other than 0 becomes 1. Descending order is exactly
/// the opposite: NaNs first. Equal keys keep their order in both.
namespace troupe::primitives {

/// y = x, sorted. y may be x.
struct TROUPE_EXPORT sort {
  static constexpr std::string_view name = "primitives.sort";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  bool descending = false;

  static void describe(description<sort>& d);
};

/// Pairs of a key and a value, sorted by key. Values have any type. Stable. `sorted_keys` may be
/// `keys`, and `sorted_values` may be `values`.
struct TROUPE_EXPORT sort_pairs {
  static constexpr std::string_view name = "primitives.sort_pairs";
  using reply = void;

  any_tensor keys{};
  any_tensor values{};
  any_tensor sorted_keys{};
  any_tensor sorted_values{};
  bool descending = false;

  static void describe(description<sort_pairs>& d);
};

/// Each segment of x sorted: the elements offsets[i] … offsets[i + 1] − 1. Elements of no segment
/// are copied. y may be x.
///
/// At most 2^31 − 1 elements and segments (`size_overflow`). Errors: `invalid_argument`, detected
/// when it runs, if the offsets (i64) are not ascending numbers from 0 to x's length; what y holds
/// then is unspecified.
struct TROUPE_EXPORT segmented_sort {
  static constexpr std::string_view name = "primitives.segmented_sort";
  using reply = void;

  any_tensor x{};
  any_tensor offsets{};
  any_tensor y{};
  bool descending = false;

  static void describe(description<segmented_sort>& d);
};

/// The k largest elements of x, or the k smallest, sorted from the extreme on; of equal ones those
/// with the smallest indices, in their order. k is the length of `values` and of `indices` (i64).
/// As NaN is behind all numbers, the largest elements are NaNs first.
struct TROUPE_EXPORT top_k {
  static constexpr std::string_view name = "primitives.top_k";
  using reply = void;

  any_tensor x{};
  any_tensor values{};
  any_tensor indices{};
  bool smallest = false;

  static void describe(description<top_k>& d);
};

}  // namespace troupe::primitives
