#pragma once

#include <troupe/request/request.hpp>
#include <troupe/rng/generator.hpp>

namespace troupe::rng {

/// Fills `to` with random bits.
///
/// Writes to, of any rank and strides, in row-major order. Types: u32, u64. Consumes one word for
/// each u32 and two for each u64, the lower half first. A quasirandom generator gives points whose
/// coordinates are the last dimension of `to`; if `to` has rank 1, points have one dimension.
/// Errors: those of every request of this library (docs/libraries/rng.md); `type_mismatch` for u64
/// from a generator of 32 bits, `sobol32` or `scrambled_sobol32`.
struct TROUPE_EXPORT bits {
  static constexpr std::string_view name = "rng.bits";
  using reply = void;

  any_tensor to{};
  position from{};

  static void describe(description<bits>& d);
  /// By how much `from.offset` advances: words, or points.
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

}  // namespace troupe::rng
