#pragma once

#include <troupe/primitives/reductions.hpp>

#include <cstdint>

namespace troupe::primitives {

/// How two accumulated numbers become one. For a minimum and a maximum they are ranks, see
/// `extreme_order`, and the higher one wins.
template <class Accumulator>
struct combiner {
  combination op = combination::sum;

  constexpr Accumulator operator()(Accumulator a, Accumulator b) const noexcept {
    if (op == combination::sum) return a + b;
    if (op == combination::product) return a * b;
    return a > b ? a : b;
  }
  [[nodiscard]] constexpr Accumulator identity() const noexcept {
    return op == combination::product ? Accumulator{1} : Accumulator{0};
  }
};

}  // namespace troupe::primitives
