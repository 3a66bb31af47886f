#pragma once

#include <troupe/request/request.hpp>

/// Solves that factor in a lower precision. Rules and errors as in `lu.hpp`.
namespace troupe::solver {

/// Solves systems: a · x = b, by LU in half the precision and refinement to the full one.
///
/// a is [batch, n, n], b and x are [batch, n, nrhs], of f64 or c128, which are factored as f32 or
/// c64. x is as exact as that of `gesv`. If refinement does not converge, or numbers are out of
/// f32's range, the matrix is factored in full precision. `iterations` (i32, the extents of the
/// batch), if given, has the number of refinements, or a negative number if it was factored in
/// full precision. info as in `gesv`. Source: LAPACK DSGESV, ZCGESV.
struct TROUPE_EXPORT gesv_refined {
  static constexpr std::string_view name = "solver.gesv_refined";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor x{};
  any_tensor iterations{};
  any_tensor info{};

  static void describe(description<gesv_refined>& d);
};

}  // namespace troupe::solver
