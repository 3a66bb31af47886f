#include "libraries/solver/requests/rules.hpp"

#include <troupe/solver/lu.hpp>

#include <string>

namespace troupe::solver {
namespace {

constexpr std::string_view pivots_text = "the row that each one was exchanged with, from 1";

/// The factors of square matrices that the request reads.
template <class R>
void describe_factors(description<R>& d, const extent& batch, const extent& n) {
  d.reads("lu", &R::lu, {batch, n, n}, "factors");
  d.reads("pivots", &R::pivots, {batch, n}, pivots_text);
  d.layouts(layout::packed, {&R::pivots});
  d.same_type({&R::pivots}, {dtype::i64});
}

}  // namespace

void getrf::describe(description<getrf>& d) {
  using self = getrf;
  const extent batch = batch_of(d), m = d.size("m"), n = d.size("n");
  d.about("Factors matrices: a = P · L · U, with partial pivoting.", "LAPACK xGETRF");
  d.reads("a", &self::a, {batch, m, n}, "matrices");
  d.writes("lu", &self::lu, {batch, m, n}, "U, and below it L without its unit diagonal")
      .may_be(&self::a);
  d.writes("pivots", &self::pivots, {batch, min(m, n)}, pivots_text);
  d.layouts(layout::packed, {&self::pivots});
  d.same_type({&self::a, &self::lu}, solver_types);
  d.same_type({&self::pivots}, {dtype::i64});
  describe_info(d, batch, singular_info);
  describe_limit(d);
}

void getrs::describe(description<getrs>& d) {
  using self = getrs;
  const extent batch = batch_of(d), n = d.size("n"), nrhs = d.size("nrhs");
  d.about("Solves systems with factors from `getrf`: op_a(a) · x = b.", "LAPACK xGETRS");
  describe_factors(d, batch, n);
  d.reads("b", &self::b, {batch, n, nrhs}, "right sides");
  d.writes("x", &self::x, {batch, n, nrhs}, "solutions").may_be(&self::b);
  d.value("op_a", &self::op_a, "applied to the matrices that were factored");
  d.same_type({&self::lu, &self::b, &self::x}, solver_types);
  describe_limit(d);
  d.rule("op_a is not conjugate", [](argument_checks& check, const self& r) {
    check.rule(r.op_a != blas::storage_op::conjugate, errc::unsupported, [] {
      return std::string("op_a is conjugate, which LAPACK's xGETRS does not take");
    });
  });
}

void getri::describe(description<getri>& d) {
  using self = getri;
  const extent batch = batch_of(d), n = d.size("n");
  d.about("Inverts matrices from their factors of `getrf`: inverse = a⁻¹.", "LAPACK xGETRI");
  describe_factors(d, batch, n);
  d.writes("inverse", &self::inverse, {batch, n, n}, "inverses").may_be(&self::lu);
  d.same_type({&self::lu, &self::inverse}, solver_types);
  describe_info(d, batch, singular_info);
  describe_limit(d);
}

void gesv::describe(description<gesv>& d) {
  using self = gesv;
  const extent batch = batch_of(d), n = d.size("n"), nrhs = d.size("nrhs");
  d.about("Solves systems: a · x = b, by LU with partial pivoting.", "LAPACK xGESV");
  d.reads("a", &self::a, {batch, n, n}, "matrices");
  d.reads("b", &self::b, {batch, n, nrhs}, "right sides");
  d.writes("x", &self::x, {batch, n, nrhs}, "solutions").may_be(&self::b);
  d.same_type({&self::a, &self::b, &self::x}, solver_types);
  describe_info(d, batch, singular_info);
  describe_limit(d);
}

}  // namespace troupe::solver
