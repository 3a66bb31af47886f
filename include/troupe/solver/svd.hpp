#pragma once

#include <troupe/request/request.hpp>
#include <troupe/solver/modes.hpp>

/// Singular values. Rules and errors as in `lu.hpp`.
namespace troupe::solver {

/// Decomposes matrices: a = u · diag(s) · vh, with orthonormal columns of u and rows of vh.
///
/// a is [batch, m, n]. s, of the real type of a's precision, is [batch, min(m, n)], from the
/// largest to the smallest. Unless `vectors` is none, u is [batch, m, min(m, n)] and vh (vᴴ)
/// [batch, min(m, n), n]; with full vectors [batch, m, m] and [batch, n, n].
///
/// The drivers randomised and approximate compute as many as s has, r: s is [batch, r], u
/// [batch, m, r], vh [batch, r, n], with 1 ≤ r ≤ min(m, n) unless that is 0; full vectors are
/// `invalid_argument`. randomised projects on r + oversampling random vectors, which depend on
/// `seed` alone, and refines the range `iterations` times. Its error is about
/// (1 + √(min(m, n))) times the first singular value left out, less with iterations.
///
/// info: the number of superdiagonals that did not converge, or −1 where a has infinities or NaNs;
/// the results of that matrix are then unspecified. Source: LAPACK xGESDD, xGESVD, xGEJSV; cuSOLVER
/// Xgesvd, gesvdj.
struct TROUPE_EXPORT svd {
  static constexpr std::string_view name = "solver.svd";
  using reply = void;

  any_tensor a{};
  any_tensor s{};
  any_tensor u{};
  any_tensor vh{};
  any_tensor info{};
  singular_vectors vectors = singular_vectors::thin;
  svd_driver driver = svd_driver::automatic;
  std::int64_t oversampling = 10;
  std::int64_t iterations = 2;
  std::uint64_t seed = 0;

  static void describe(description<svd>& d);
};

}  // namespace troupe::solver
