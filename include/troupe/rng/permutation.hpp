#pragma once

#include <troupe/request/request.hpp>
#include <troupe/rng/generator.hpp>

namespace troupe::rng {

/// A random permutation of 0 … n − 1, each with equal probability: the indices sorted by 64 random
/// bits each; ties keep their order.
///
/// Writes to, a vector of n < 2^31 elements with any stride. Types: i32, i64; two words each. Does
/// not support quasirandom generators. With philox every backend gives the same permutation. Errors
/// besides those of every request of this library (docs/libraries/rng.md): `size_overflow`,
/// `out_of_memory` for the workspace of 24 bytes per element.
struct TROUPE_EXPORT permutation {
  static constexpr std::string_view name = "rng.permutation";
  using reply = void;

  any_tensor to{};
  position from{};

  static void describe(description<permutation>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

}  // namespace troupe::rng
