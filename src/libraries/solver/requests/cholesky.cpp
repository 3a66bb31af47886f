#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/cholesky.hpp>

namespace troupe::solver {

void potrf::describe(description<potrf>& d) {
  using self = potrf;
  const extent batch = batch_of(d), n = d.size("n");
  d.about("Factors positive definite matrices: a = L · Lᴴ (lower), or a = Uᴴ · U (upper).",
          "LAPACK xPOTRF");
  d.reads("a", &self::a, {batch, n, n}, "symmetric or Hermitian matrices");
  d.writes("factor", &self::factor, {batch, n, n}, "L or U, zeros in the other triangle")
      .may_be(&self::a);
  d.value("uplo", &self::uplo, "the triangle that is read, and that the factor lies in");
  d.same_type({&self::a, &self::factor}, solver_types);
  describe_info(d, batch, minor_info);
  describe_limit(d);
}

void potrs::describe(description<potrs>& d) {
  using self = potrs;
  const extent batch = batch_of(d), n = d.size("n"), nrhs = d.size("nrhs");
  d.about("Solves systems with factors from `potrf`: a · x = b.", "LAPACK xPOTRS");
  d.reads("factor", &self::factor, {batch, n, n}, "factors");
  d.reads("b", &self::b, {batch, n, nrhs}, "right sides");
  d.writes("x", &self::x, {batch, n, nrhs}, "solutions").may_be(&self::b);
  d.value("uplo", &self::uplo, uplo_text);
  d.same_type({&self::factor, &self::b, &self::x}, solver_types);
  describe_limit(d);
}

void potri::describe(description<potri>& d) {
  using self = potri;
  const extent batch = batch_of(d), n = d.size("n");
  d.about("Inverts matrices from their factors of `potrf`: inverse = a⁻¹.", "LAPACK xPOTRI");
  d.reads("factor", &self::factor, {batch, n, n}, "factors");
  d.writes("inverse", &self::inverse, {batch, n, n}, "inverses, both triangles")
      .may_be(&self::factor);
  d.value("uplo", &self::uplo, uplo_text);
  d.same_type({&self::factor, &self::inverse}, solver_types);
  describe_info(d, batch, "0, or the zero on the factor's diagonal, from 1");
  describe_limit(d);
}

void posv::describe(description<posv>& d) {
  using self = posv;
  const extent batch = batch_of(d), n = d.size("n"), nrhs = d.size("nrhs");
  d.about("Solves systems with positive definite matrices: a · x = b.", "LAPACK xPOSV");
  d.reads("a", &self::a, {batch, n, n}, "symmetric or Hermitian matrices");
  d.reads("b", &self::b, {batch, n, nrhs}, "right sides");
  d.writes("x", &self::x, {batch, n, nrhs}, "solutions").may_be(&self::b);
  d.value("uplo", &self::uplo, uplo_text);
  d.same_type({&self::a, &self::b, &self::x}, solver_types);
  describe_info(d, batch, minor_info);
  describe_limit(d);
}

}  // namespace troupe::solver
