#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/svd.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe::solver {
namespace {

[[nodiscard]] bool finds_the_largest(svd_driver driver) {
  return driver == svd_driver::randomised || driver == svd_driver::approximate;
}

void check_part(argument_checks& check, const svd& r) {
  if (!finds_the_largest(r.driver)) return;
  check.rule(r.vectors != singular_vectors::full, errc::invalid_argument, [&] {
    return fmt::format("vectors is full, but the driver {} finds the largest singular values alone",
                       r.driver == svd_driver::randomised ? "randomised" : "approximate");
  });
  const int rank = r.a.rank();
  const std::int64_t most = std::min(r.a.extent(rank - 2), r.a.extent(rank - 1));
  const std::int64_t has = r.s.extent(r.s.rank() - 1);
  check.rule(has <= most && (has > 0 || most == 0), errc::shape_mismatch, [&] {
    return fmt::format("s has {} singular values of each matrix; a has 1 to {}", has, most);
  });
}

}  // namespace

void svd::describe(description<svd>& d) {
  using self = svd;
  const extent batch = batch_of(d), m = d.size("m"), n = d.size("n"), r = d.size("r");
  d.about("Decomposes matrices: a = u · diag(s) · vh, with orthonormal u and vh.",
          "LAPACK xGESDD, xGESVD, xGEJSV; cuSOLVER Xgesvd, gesvdj");
  const condition full = d.is(&self::vectors, {singular_vectors::full});
  const condition has_vectors = !d.is(&self::vectors, {singular_vectors::none});
  const condition randomised = d.is(&self::driver, {svd_driver::randomised});
  const condition part = d.is(&self::driver, {svd_driver::randomised, svd_driver::approximate});
  d.reads("a", &self::a, {batch, m, n}, "matrices");
  d.writes("s", &self::s, {batch, min(m, n)}, "singular values, the largest first")
      .shape_where(part, {batch, r});
  d.writes("u", &self::u, {batch, m, min(m, n)}, "left singular vectors, in columns")
      .shape_where(part, {batch, m, r})
      .shape_where(full, {batch, m, m})
      .optional()
      .given_where(has_vectors);
  d.writes("vh", &self::vh, {batch, min(m, n), n}, "right singular vectors, conjugated, in rows")
      .shape_where(part, {batch, r, n})
      .shape_where(full, {batch, n, n})
      .optional()
      .given_where(has_vectors);
  d.value("vectors", &self::vectors, "which singular vectors are written");
  d.value("driver", &self::driver, "algorithm");
  d.value("oversampling", &self::oversampling, "random vectors beyond those wanted")
      .range(0, 1 << 20)
      .only_where(randomised);
  d.value("iterations", &self::iterations, "refinements of the range")
      .range(0, 1 << 20)
      .only_where(randomised);
  d.value("seed", &self::seed, "of the random vectors").only_where(randomised);
  d.layouts(layout::packed, {&self::s});
  d.types({&self::a, &self::s, &self::u, &self::vh}, matrix_and_real_rows());
  describe_info(d, batch, "0, how many superdiagonals did not converge, or -1: not finite");
  describe_limit(d);
  d.rule("with driver randomised or approximate: 1 ≤ r ≤ min(m, n), vectors is not full",
         check_part);
}

}  // namespace troupe::solver
