#pragma once

#include <troupe/primitives/reductions.hpp>
#include <troupe/tensor/dtype.hpp>

/// The accumulators of sums and products.
namespace troupe::primitives {

/// The element type with the precision that sums of `type` are accumulated in: f32, f64, i64, u64.
[[nodiscard]] constexpr dtype accumulator_of(dtype type) noexcept {
  if (type == dtype::f64) return dtype::f64;
  if (is_float(type)) return dtype::f32;
  const bool is_unsigned =
      type == dtype::u8 || type == dtype::u16 || type == dtype::u32 || type == dtype::u64;
  return is_unsigned ? dtype::u64 : dtype::i64;
}

/// True where the answer is one of the elements.
[[nodiscard]] constexpr bool is_selection(combination op) noexcept {
  return op == combination::minimum || op == combination::maximum;
}

}  // namespace troupe::primitives
