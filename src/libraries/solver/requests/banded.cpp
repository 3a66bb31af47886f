#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/banded.hpp>

#include <fmt/format.h>

namespace troupe::solver {

void gbsv::describe(description<gbsv>& d) {
  using self = gbsv;
  const extent batch = batch_of(d), diagonals = d.size("kl + ku + 1"), n = d.size("n"),
               nrhs = d.size("nrhs");
  d.about("Solves systems with band matrices: a · x = b, by LU with partial pivoting.",
          "LAPACK xGBSV");
  d.reads("ab", &self::ab, {batch, diagonals, n}, "the diagonals of the matrices");
  d.reads("b", &self::b, {batch, n, nrhs}, "right sides");
  d.writes("x", &self::x, {batch, n, nrhs}, "solutions").may_be(&self::b);
  d.value("kl", &self::kl, "diagonals below the main one");
  d.value("ku", &self::ku, "diagonals above the main one");
  d.same_type({&self::ab, &self::b, &self::x}, solver_types);
  describe_info(d, batch, singular_info);
  describe_limit(d);
  // Compared by subtraction: kl + ku + 1 of hostile values could wrap around.
  d.rule("ab has kl + ku + 1 diagonals, and kl and ku are at least 0",
         [](argument_checks& check, const self& r) {
           const std::int64_t rows = r.ab.extent(r.ab.rank() - 2);
           check.rule(r.kl >= 0 && r.ku >= 0 && r.kl < rows && r.ku == rows - 1 - r.kl,
                      errc::shape_mismatch, [&] {
                        return fmt::format("ab has {} diagonals but kl is {} and ku is {}", rows,
                                           r.kl, r.ku);
                      });
         });
}

void pbsv::describe(description<pbsv>& d) {
  using self = pbsv;
  const extent batch = batch_of(d), k = d.size("k"), n = d.size("n"), nrhs = d.size("nrhs");
  d.about("Solves systems with positive definite band matrices: a · x = b, by Cholesky.",
          "LAPACK xPBSV");
  d.reads("ab", &self::ab, {batch, k + 1, n}, "the diagonals of one triangle of the matrices");
  d.reads("b", &self::b, {batch, n, nrhs}, "right sides");
  d.writes("x", &self::x, {batch, n, nrhs}, "solutions").may_be(&self::b);
  d.value("uplo", &self::uplo, "the triangle that ab holds");
  d.same_type({&self::ab, &self::b, &self::x}, solver_types);
  describe_info(d, batch, minor_info);
  describe_limit(d);
  d.rule("ab has at least one diagonal", [](argument_checks& check, const self& r) {
    check.rule(r.ab.extent(r.ab.rank() - 2) > 0, errc::shape_mismatch,
               [] { return std::string("ab must have at least one diagonal"); });
  });
}

}  // namespace troupe::solver
