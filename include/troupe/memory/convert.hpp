#pragma once

#include <troupe/request/request.hpp>

namespace troupe::memory {

/// Converts elements to another element type: to[i] = type_of_to(from[i]).
///
/// Both have the same extents; strides as in `copy`. Reads from, writes to. Converts each of the 17
/// types to each of them:
/// - to a floating type: rounded once, to nearest even; overflow becomes infinity (NaN for e4m3,
///   which has none); NaN stays NaN;
/// - floating to integer: truncated; out of range becomes the nearest bound, NaN becomes 0;
/// - integer to integer: modulo 2^bits, as static_cast;
/// - to bool: whether the value is nonzero (NaN is nonzero); from bool: 0 or 1;
/// - complex to real: the real part (to bool: whether either part is nonzero); real to complex: an
///   imaginary part of zero.
/// Errors: `shape_mismatch`; `aliasing` for any overlap except a view with itself of the same type.
struct TROUPE_EXPORT convert {
  static constexpr std::string_view name = "memory.convert";
  using reply = void;

  any_tensor from{};
  any_tensor to{};

  static void describe(description<convert>& d);
};

}  // namespace troupe::memory
