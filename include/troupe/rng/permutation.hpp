#pragma once

#include <troupe/request/request.hpp>
#include <troupe/rng/generator.hpp>

namespace troupe::rng {

/// A random order of 0 … n − 1, each as likely: the indices sorted by 64 random bits each, those of
/// equal bits in their own order.
///
/// Writes to, a vector of n < 2^31 elements of any stride. Types: i32, i64; two words each. No
/// quasirandom generator. With philox every backend gives the same order.
/// Errors beside those of every request of this library (docs/libraries/rng.md): `size_overflow`,
/// `out_of_memory` for 24 bytes of workspace an element.
struct TROUPE_EXPORT permutation {
  static constexpr std::string_view name = "rng.permutation";
  using reply = void;

  any_tensor to{};
  position from{};

  static void describe(description<permutation>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

}  // namespace troupe::rng
