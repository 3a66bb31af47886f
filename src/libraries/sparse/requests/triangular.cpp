#include "libraries/sparse/requests/rules.hpp"

#include <troupe/sparse/triangular.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <vector>

namespace troupe::sparse {
namespace {

constexpr std::initializer_list<dtype> solved_types = {dtype::f64, dtype::f32, dtype::c128,
                                                       dtype::c64};

template <class R>
void describe_triangular_options(description<R>& d) {
  d.value("alpha", &R::alpha, "factor of b");
  d.value("uplo", &R::uplo, "the triangle of a that is read");
  d.value("diag", &R::diag, "whether the diagonal is read or all ones");
  d.value("op_a", &R::op_a, "applied to a");
}

template <class R>
void describe_triangular_rules(description<R>& d) {
  d.same_type({&R::b, &R::x}, solved_types);
  d.factors({&R::alpha}, &R::x);
  d.rule("a is square, csr or csc", [](argument_checks& check, const R& r) {
    check.rule(r.a.format <= sparse_format::csc, errc::invalid_argument,
               [] { return "a must be csr or csc"; });
    check.rule(r.a.rows == r.a.columns, errc::shape_mismatch, [&] {
      return fmt::format("a must be square; it is [{}, {}]", r.a.rows, r.a.columns);
    });
  });
  d.rule("b has the type and the rows of a", [](argument_checks& check, const R& r) {
    check.same_type({"b", r.b}, {"a.values", r.a.values});
    check_extent(check, {"b", r.b}, 0, r.a.rows, "the rows of a");
  });
}

}  // namespace

void spsv::describe(description<spsv>& d) {
  const extent n = d.size("n");
  d.about("Solves a system with a sparse triangular matrix: op_a(a) · x = alpha · b.",
          "cuSPARSE cusparseSpSV");
  d.group("a", &spsv::a);
  d.reads("b", &spsv::b, {n}, "right side");
  d.writes("x", &spsv::x, {n}, "solution").may_be(&spsv::b);
  describe_triangular_options(d);
  d.layouts(layout::vector, {&spsv::b, &spsv::x});
  describe_triangular_rules(d);
}

void spsm::describe(description<spsm>& d) {
  const extent n = d.size("n"), nrhs = d.size("nrhs");
  d.about("Solves systems with a sparse triangular matrix: op_a(a) · x = alpha · b.",
          "cuSPARSE cusparseSpSM");
  d.group("a", &spsm::a);
  d.reads("b", &spsm::b, {n, nrhs}, "right sides");
  d.writes("x", &spsm::x, {n, nrhs}, "solutions").may_be(&spsm::b);
  describe_triangular_options(d);
  describe_triangular_rules(d);
}

}  // namespace troupe::sparse
