#pragma once

#include <troupe/request/request.hpp>

/// Sorting of vectors, of any length and any stride of at least 1. `sort` and `top_k` take tensors
/// of any rank and strides, and sort each of their rows, which lie along an axis; a vector is one
/// row.
///
/// Keys have any type but the complex ones. Numbers ascend from −∞ to +∞, with −0 before +0; behind
/// them come NaNs, first those without the sign bit, and NaNs of the same sign by their bits. No
/// bit of a key changes, except that a boolean other than 0 becomes 1. Descending order is exactly
/// the opposite: NaNs first. Equal keys keep their order in both.
namespace troupe::primitives {

/// y = x, each row along an axis sorted. y may be x. `indices` (i64 or i32), if given, takes where
/// in its row of x each element was.
///
/// Rows of several, and those whose indices are asked for, have at most 2^31 − 1 elements
/// (`size_overflow`). `invalid_argument` for an axis that does not exist.
struct TROUPE_EXPORT sort {
  static constexpr std::string_view name = "primitives.sort";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  bool descending = false;
  std::int64_t axis = -1;  ///< a negative one counts from the last
  any_tensor indices{};

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

/// The k largest elements of each row of x [batch…, n], or the k smallest, sorted from the extreme
/// on; of equal ones those with the smallest indices, in their order. As NaN is behind all numbers,
/// the largest elements are NaNs first.
///
/// Writes `values` [batch…, k] and, if given, `indices` [batch…, k] (i64 or i32), which count from
/// the row's first element. Rows are the last axis; `permute` makes any other one the last. Several
/// rows, and those with indices of i32, have at most 2^31 − 1 elements (`size_overflow`).
struct TROUPE_EXPORT top_k {
  static constexpr std::string_view name = "primitives.top_k";
  using reply = void;

  any_tensor x{};
  any_tensor values{};
  any_tensor indices{};
  bool smallest = false;
  /// How many; 0: as many as `values` has room for. Not needed unless `values` is left out.
  std::int64_t k = 0;

  static void describe(description<top_k>& d);
};

}  // namespace troupe::primitives
