#pragma once

#include <troupe/request/request.hpp>

namespace troupe::memory {

/// Copies elements into another element type: to[i] = type_of_to(from[i]).
///
/// Both have the same extents; strides as in `copy`. Reads from, writes to. All 17 types to all 17:
/// - to a floating type: rounded once, to nearest even; too large becomes infinity (NaN for e4m3,
///   which has none); NaN stays NaN;
/// - floating to integer: the fraction is dropped, out of range becomes the nearest end of the
///   range, NaN becomes 0;
/// - integer to integer: modulo 2^bits, as static_cast;
/// - to bool: whether the value is not zero (NaN is not zero); from bool: 0 or 1;
/// - complex to real: the real part (to bool: whether either part is not zero); real to complex: an
///   imaginary part of zero.
/// Errors: `shape_mismatch`; `aliasing` for any overlap but a view with itself of the same type.
struct TROUPE_EXPORT convert {
  static constexpr std::string_view name = "memory.convert";
  using reply = void;

  any_tensor from{};
  any_tensor to{};

  static void describe(description<convert>& d);
};

}  // namespace troupe::memory
