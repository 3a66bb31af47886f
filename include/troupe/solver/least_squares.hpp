#pragma once

#include <troupe/request/request.hpp>
#include <troupe/solver/modes.hpp>

/// Least squares. Rules and errors as in `lu.hpp`.
namespace troupe::solver {

/// Finds x that minimises the Euclidean norm of each column of a · x − b; of several, the shortest.
///
/// a is [batch, m, n], of any shape; b is [batch, m, nrhs], x [batch, n, nrhs]. With driver qr, a
/// must have full rank: info is i where R[i, i] (of a for m ≥ n, else of aᴴ) is zero, and x is then
/// unspecified. With driver svd a has any rank: singular values of at most rcond times the largest
/// count as zero (a negative rcond means max(m, n) times the type's epsilon), `rank` (i32, the
/// extents of the batch), if given, has how many are left; info is the number of values that did
/// not converge. With either, info is −1 where a has infinities or NaNs. Without right sides, qr
/// does not look at a. Source: LAPACK xGELS, xGELSD.
struct TROUPE_EXPORT gels {
  static constexpr std::string_view name = "solver.gels";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor x{};
  any_tensor rank{};
  any_tensor info{};
  least_squares_driver driver = least_squares_driver::qr;
  double rcond = -1;

  static void describe(description<gels>& d);
};

}  // namespace troupe::solver
