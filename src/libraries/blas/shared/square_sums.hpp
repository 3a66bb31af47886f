#pragma once

#include "libraries/blas/shared/reals.hpp"

/// Sums of squares of f64 of any size, without overflow or underflow on the way to their root.
/// constexpr, so that kernels run it. After: E. Anderson, "Safe Scaling in the Level 1 BLAS", ACM
/// TOMS 44, 2017, which LAPACK 3.10 follows.
namespace troupe::norms {

/// Squares of large and of small numbers are summed scaled, apart from the others.
struct square_sums {
  double large = 0;
  double medium = 0;
  double small = 0;

  // Powers of two: the least that is large, the largest that is small, and what scales them.
  static constexpr double least_large = 0x1p486;
  static constexpr double largest_small = 0x1p-511;
  static constexpr double scale_of_large = 0x1p-538;
  static constexpr double scale_of_small = 0x1p537;

  constexpr void add_square_of(double x) noexcept {
    const double size = reals::magnitude(x);
    if (size > least_large) {
      large += size * scale_of_large * (size * scale_of_large);
    } else if (size < largest_small) {
      small += size * scale_of_small * (size * scale_of_small);
    } else {
      medium += size * size;  // a NaN, too
    }
  }

  constexpr square_sums& operator+=(const square_sums& other) noexcept {
    large += other.large;
    medium += other.medium;
    small += other.small;
    return *this;
  }

  /// The root of the whole sum.
  [[nodiscard]] constexpr double root() const noexcept {
    using reals::square_root;
    if (large > 0) {
      // The small numbers are far below the last place.
      const double rest = medium * scale_of_large * scale_of_large;
      return square_root(large + rest) / scale_of_large;
    }
    const double of_medium = square_root(medium);
    const double of_small = square_root(small) / scale_of_small;
    if (medium == 0) return of_small;
    if (!(small > 0)) return of_medium;
    const double larger = of_medium > of_small ? of_medium : of_small;
    const double ratio = (of_medium > of_small ? of_small : of_medium) / larger;
    return larger * square_root(1 + ratio * ratio);
  }
};

}  // namespace troupe::norms
