#pragma once

#include <troupe/primitives/reductions.hpp>

namespace troupe::primitives {

/// All elements up to each one along an axis combined: y[i] = x[0] ∘ … ∘ x[i], or without x[i] if
/// `exclusive`; y[0] is then 0, 1, or the largest or smallest number of the type.
///
/// x and y have one shape, of rank 1 or more, and any strides; y may be x. Types and accumulation
/// as in `reduce`; y has the types that `reduce::result` may have. Integers, minima and maxima are
/// exact. Sums and products of floating types have the same bits every time if `deterministic` is
/// set; on a GPU that reads a vector twice.
///
/// \errors `invalid_argument` for an axis that does not exist
struct TROUPE_EXPORT scan {
  static constexpr std::string_view name = "primitives.scan";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  combination op = combination::sum;
  bool exclusive = false;
  bool deterministic = false;
  std::int64_t axis = -1;  ///< a negative one counts from the last

  static void describe(description<scan>& d);
};

}  // namespace troupe::primitives
