#pragma once

#include <troupe/request/request.hpp>

namespace troupe::memory {

/// Sets every element to one value: to = value.
///
/// Writes to, of any rank and strides. Types: all. Floating types round the value to nearest.
/// Integer types must be able to represent it. For bool any nonzero value is true. Errors:
/// `invalid_argument` for a value that the type cannot represent, `aliasing` if indices of `to`
/// refer to the same element.
struct TROUPE_EXPORT fill {
  static constexpr std::string_view name = "memory.fill";
  using reply = void;

  any_tensor to{};
  scalar value = 0;

  static void describe(description<fill>& d);
};

/// Sets every byte of every element (memset). Bytes between the elements of a strided view are
/// kept.
///
/// Writes to, of any rank and strides. Types: all; for bool `byte` must be 0 or 1. Errors:
/// `invalid_argument` for a byte outside 0 … 255, `aliasing` as `fill`.
struct TROUPE_EXPORT set_bytes {
  static constexpr std::string_view name = "memory.set_bytes";
  using reply = void;

  any_tensor to{};
  std::int64_t byte = 0;

  static void describe(description<set_bytes>& d);
};

}  // namespace troupe::memory
