#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/refined.hpp>

namespace troupe::solver {

void gesv_refined::describe(description<gesv_refined>& d) {
  using self = gesv_refined;
  const extent batch = batch_of(d), n = d.size("n"), nrhs = d.size("nrhs");
  d.about("Solves systems: a · x = b, by LU in half the precision and refinement to the full one.",
          "LAPACK DSGESV, ZCGESV");
  d.reads("a", &self::a, {batch, n, n}, "matrices");
  d.reads("b", &self::b, {batch, n, nrhs}, "right sides");
  d.writes("x", &self::x, {batch, n, nrhs}, "solutions").may_be(&self::b);
  d.writes("iterations", &self::iterations, {batch},
           "number of refinements, or negative: factored in full precision")
      .optional();
  d.layouts(layout::packed, {&self::iterations});
  d.same_type({&self::a, &self::b, &self::x}, {dtype::f64, dtype::c128});
  d.same_type({&self::iterations}, {dtype::i32});
  describe_info(d, batch, singular_info);
  describe_limit(d);
}

}  // namespace troupe::solver
