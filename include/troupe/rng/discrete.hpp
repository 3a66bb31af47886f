#pragma once

#include <troupe/request/request.hpp>
#include <troupe/rng/generator.hpp>

/// Integers and booleans. Each request writes `to`, of any rank and strides, in row-major order.
/// `consumes()` counts words, or points of a quasirandom generator. With philox every backend gives
/// the same values.
///
/// Errors besides those of every request of this library (docs/libraries/rng.md):
/// `invalid_argument` for a parameter that is not finite or is outside the stated range.
namespace troupe::rng {

/// Integers low … high, both included, with equal probability: the upper half of the product of
/// high − low + 1 and 64 random bits for types of up to 32 bits, 128 random bits for larger ones.
/// The bias is less than one in 2^32.
///
/// Types: i8 u8 i16 u16 i32 u32, two words each; i64 u64, four words each. low ≤ high; both must be
/// integers that the type can represent.
struct TROUPE_EXPORT integers {
  static constexpr std::string_view name = "rng.integers";
  using reply = void;

  any_tensor to{};
  position from{};
  scalar low = 0;
  scalar high = 1;

  static void describe(description<integers>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// 1 (true) with the given probability, else 0. Types: boolean, u8, i32, f32, f64; two words each.
/// 0 ≤ probability ≤ 1.
struct TROUPE_EXPORT bernoulli {
  static constexpr std::string_view name = "rng.bernoulli";
  using reply = void;

  any_tensor to{};
  position from{};
  double probability = 0.5;

  static void describe(description<bernoulli>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// Poisson with the given mean, from 0 to 1e9. Types: i32, u32, i64; four words each.
///
/// A mean below 30 inverts the distribution function. Any other mean uses method PTRS of W.
/// Hörmann, "The Transformed Rejection Method for Generating Poisson Random Variables", 1993,
/// seeded with the four words; it does not support quasirandom generators (`invalid_argument`).
struct TROUPE_EXPORT poisson {
  static constexpr std::string_view name = "rng.poisson";
  using reply = void;

  any_tensor to{};
  position from{};
  double mean = 1;

  static void describe(description<poisson>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// Indices i of `weights`, with a probability of weights[i] / Σ weights.
///
/// Reads weights, a vector of 1 to 2^31 elements of f32 or f64; writes to. Types: i32, i64; two
/// words each. Sums are formed in f64, in the same order on every backend. Errors: `aliasing`;
/// `invalid_argument`, detected when it runs, if a weight is negative, infinite or NaN, or if the
/// weights sum to 0 or overflow f64.
struct TROUPE_EXPORT discrete {
  static constexpr std::string_view name = "rng.discrete";
  using reply = void;

  any_tensor to{};
  position from{};
  any_tensor weights{};

  static void describe(description<discrete>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

}  // namespace troupe::rng
