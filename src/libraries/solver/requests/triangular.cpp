#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/triangular.hpp>

namespace troupe::solver {

void trtri::describe(description<trtri>& d) {
  using self = trtri;
  const extent batch = batch_of(d), n = d.size("n");
  d.about("Inverts triangular matrices: inverse = a⁻¹.", "LAPACK xTRTRI");
  d.reads("a", &self::a, {batch, n, n}, "triangular matrices");
  d.writes("inverse", &self::inverse, {batch, n, n}, "inverses, zeros in the other triangle")
      .may_be(&self::a);
  d.value("uplo", &self::uplo, uplo_text);
  d.value("diag", &self::diag, "whether the diagonal of a is read, or taken to be ones");
  d.same_type({&self::a, &self::inverse}, solver_types);
  describe_info(d, batch, "0, or the zero on the diagonal, from 1");
  describe_limit(d);
}

}  // namespace troupe::solver
