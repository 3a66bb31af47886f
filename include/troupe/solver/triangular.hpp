#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/request.hpp>

/// Inverses of triangular matrices; `blas.trsm` solves with them. Rules and errors as in `lu.hpp`.
namespace troupe::solver {

/// Inverts triangular matrices: inverse = a⁻¹.
///
/// a is [batch, n, n], read in triangle `uplo`, without its diagonal if `diag` is unit. Writes
/// inverse, of the same extents: that triangle with its diagonal, zeros in the other. In place,
/// elements that are not read stay as they are. info: i where the diagonal element i is zero, and
/// so no inverse was written. Source: LAPACK xTRTRI.
struct TROUPE_EXPORT trtri {
  static constexpr std::string_view name = "solver.trtri";
  using reply = void;

  any_tensor a{};
  any_tensor inverse{};
  any_tensor info{};
  blas::uplo uplo = blas::uplo::upper;
  blas::diag diag = blas::diag::non_unit;

  static void describe(description<trtri>& d);
};

}  // namespace troupe::solver
