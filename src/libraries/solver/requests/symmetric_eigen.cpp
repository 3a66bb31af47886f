#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/symmetric_eigen.hpp>

#include <fmt/format.h>

namespace troupe::solver {
namespace {

void check_range(argument_checks& check, const eigh& r) {
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const std::int64_t k = r.w.extent(r.w.rank() - 1);
  if (r.range == eigen_range::indices) {
    check.rule(r.first <= n && k <= n - r.first, errc::shape_mismatch, [&] {
      return fmt::format("first is {} and w has {} eigenvalues; a has {}", r.first, k, n);
    });
  }
  if (r.range == eigen_range::values) {
    check.rule(r.lower < r.upper, errc::invalid_argument, [&] {
      return fmt::format("lower must be less than upper; lower is {}, upper is {}", r.lower,
                         r.upper);
    });
    check.rule(k <= n, errc::shape_mismatch,
               [&] { return fmt::format("w has room for {} eigenvalues; a has {}", k, n); });
  }
}

}  // namespace

void eigh::describe(description<eigh>& d) {
  using self = eigh;
  const extent batch = batch_of(d), n = d.size("n"), k = d.size("k");
  d.about("Finds eigenvalues and eigenvectors of symmetric or Hermitian matrices.",
          "LAPACK xSYEVD, xSYEVR, xHEEVD, xHEEVR; cuSOLVER Xsyevd, XsyevBatched, syevj");
  const condition part = !d.is(&self::range, {eigen_range::all});
  const condition values = d.is(&self::range, {eigen_range::values});
  d.reads("a", &self::a, {batch, n, n}, "symmetric or Hermitian matrices");
  d.writes("w", &self::w, {batch, n}, "eigenvalues, ascending").shape_where(part, {batch, k});
  d.writes("v", &self::v, {batch, n, n}, "eigenvectors, in columns")
      .shape_where(part, {batch, n, k})
      .optional()
      .given_where(d.is(&self::vectors))
      .may_be(&self::a);
  d.writes("count", &self::count, {batch}, "how many eigenvalues are in (lower, upper]")
      .optional()
      .given_where(values);
  d.keeps_outcomes(errc::capacity_exceeded, d.given(&self::count));
  d.value("vectors", &self::vectors, "whether eigenvectors are written");
  d.value("uplo", &self::uplo, uplo_text);
  d.value("driver", &self::driver, "algorithm");
  d.value("range", &self::range, "which eigenvalues are written");
  d.value("lower", &self::lower, "eigenvalues are above").only_where(values);
  d.value("upper", &self::upper, "eigenvalues are at most").only_where(values);
  d.value("first", &self::first, "index of the first eigenvalue, from 0")
      .at_least(0)
      .only_where(d.is(&self::range, {eigen_range::indices}));
  d.layouts(layout::packed, {&self::w, &self::count});
  d.types({&self::a, &self::w, &self::v}, {{dtype::f32, dtype::f32, dtype::f32},
                                           {dtype::f64, dtype::f64, dtype::f64},
                                           {dtype::c64, dtype::f32, dtype::c64},
                                           {dtype::c128, dtype::f64, dtype::c128}});
  d.same_type({&self::count}, {dtype::i64});
  describe_info(d, batch, "0, how many off-diagonals did not converge, or -1: not finite");
  describe_limit(d);
  d.rule("with range indices: first + k ≤ n; with range values: lower < upper, k ≤ n", check_range);
}

void eigh_generalised::describe(description<eigh_generalised>& d) {
  using self = eigh_generalised;
  const extent batch = batch_of(d), n = d.size("n");
  d.about("Finds eigenvalues and eigenvectors of a with b, which is positive definite.",
          "LAPACK xSYGVD, xHEGVD");
  d.reads("a", &self::a, {batch, n, n}, "symmetric or Hermitian matrices");
  d.reads("b", &self::b, {batch, n, n}, "positive definite matrices");
  d.writes("w", &self::w, {batch, n}, "eigenvalues, ascending");
  d.writes("v", &self::v, {batch, n, n}, "eigenvectors, in columns")
      .optional()
      .given_where(d.is(&self::vectors))
      .may_be(&self::a);
  d.value("problem", &self::problem, "what the eigenvalues l and the vectors x satisfy");
  d.value("vectors", &self::vectors, "whether eigenvectors are written");
  d.value("uplo", &self::uplo, uplo_text);
  d.layouts(layout::packed, {&self::w});
  d.types({&self::a, &self::w, &self::b, &self::v}, matrix_and_real_rows());
  describe_info(
      d, batch,
      "0, how many off-diagonals did not converge, n + the minor of b, or -1: not finite");
  describe_limit(d);
}

}  // namespace troupe::solver
