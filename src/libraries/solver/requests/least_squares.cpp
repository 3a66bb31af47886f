#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/least_squares.hpp>

namespace troupe::solver {

void gels::describe(description<gels>& d) {
  using self = gels;
  const extent batch = batch_of(d), m = d.size("m"), n = d.size("n"), nrhs = d.size("nrhs");
  d.about("Finds x that minimises the norm of each column of a · x − b; of several, the shortest.",
          "LAPACK xGELS, xGELSD");
  d.reads("a", &self::a, {batch, m, n}, "matrices");
  d.reads("b", &self::b, {batch, m, nrhs}, "right sides");
  d.writes("x", &self::x, {batch, n, nrhs}, "solutions").may_be(&self::b);
  d.value("driver", &self::driver, "by QR, for full rank, or by singular values, for any rank");
  const condition by_values = d.is(&self::driver, {least_squares_driver::svd});
  d.writes("rank", &self::rank, {batch}, "rank of each matrix").optional().only_where(by_values);
  d.value(
       "rcond", &self::rcond,
       "singular values of at most rcond times the largest count as 0; negative: max(m, n) · eps")
      .only_where(by_values);
  d.layouts(layout::packed, {&self::rank});
  d.same_type({&self::a, &self::b, &self::x}, solver_types);
  d.same_type({&self::rank}, {dtype::i32});
  describe_info(d, batch,
                "0, the zero on R's diagonal, from 1, or how many values did not converge");
  describe_limit(d);
}

}  // namespace troupe::solver
