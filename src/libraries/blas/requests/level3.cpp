#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level3.hpp>

namespace troupe::blas {

void gemm::describe(description<gemm>& d) {
  const extent m = d.size("m");
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about("Multiplies two matrices: c = alpha · op_a(a) · op_b(b) + beta · c.", "BLAS xGEMM");
  d.reads("a", &gemm::a, {m, k}, "left factor");
  d.reads("b", &gemm::b, {k, n}, "right factor");
  d.value("alpha", &gemm::alpha, "factor of the product");
  d.value("beta", &gemm::beta, "factor of the old c");
  d.updates("c", &gemm::c, {m, n}, "result").old_content_unless(d.zero(&gemm::beta));
  d.value("op_a", &gemm::op_a, "applied to a's elements");
  d.value("op_b", &gemm::op_b, "applied to b's elements");
  d.value("math", &gemm::math, "arithmetic of the product").only_where(takes_math(d, &gemm::a));
  d.value("deterministic", &gemm::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&gemm::a, &gemm::b, &gemm::c});
  d.types({&gemm::a, &gemm::b, &gemm::c}, product_rows());
  d.factors({&gemm::alpha, &gemm::beta}, &gemm::c);
}

void geam::describe(description<geam>& d) {
  const extent m = d.size("m");
  const extent n = d.size("n");
  d.about("Adds two matrices: c = alpha · op_a(a) + beta · op_b(b).", "cuBLAS geam");
  d.reads("a", &geam::a, {m, n}, "first term; not read where alpha is 0");
  d.reads("b", &geam::b, {m, n}, "second term; not read where beta is 0");
  d.value("alpha", &geam::alpha, "factor of a");
  d.value("beta", &geam::beta, "factor of b");
  d.updates("c", &geam::c, {m, n}, "result")
      .updated_where({d.same_view(&geam::c, &geam::a), d.same_view(&geam::c, &geam::b)})
      .may_be(&geam::a)
      .may_be(&geam::b);
  d.value("op_a", &geam::op_a, "applied to a's elements");
  d.value("op_b", &geam::op_b, "applied to b's elements");
  d.layouts(layout::matrix, {&geam::a, &geam::b, &geam::c});
  d.same_type({&geam::a, &geam::b, &geam::c}, classic_types);
  d.factors({&geam::alpha, &geam::beta}, &geam::a);
}

void dgmm::describe(description<dgmm>& d) {
  const extent m = d.size("m");
  const extent n = d.size("n");
  d.about("Multiplies by a diagonal matrix: c = a · diag(x), or c = diag(x) · a.", "cuBLAS dgmm");
  d.reads("a", &dgmm::a, {m, n}, "matrix");
  d.reads("x", &dgmm::x, {n}, "the diagonal")
      .shape_where(d.is(&dgmm::side, {blas::side::left}), {m});
  d.updates("c", &dgmm::c, {m, n}, "result")
      .updated_where(d.same_view(&dgmm::c, &dgmm::a))
      .may_be(&dgmm::a);
  d.value("side", &dgmm::side, "the side of a that x is on");
  d.layouts(layout::matrix, {&dgmm::a, &dgmm::c});
  d.layouts(layout::vector, {&dgmm::x});
  d.same_type({&dgmm::a, &dgmm::x, &dgmm::c}, classic_types);
  d.rule("c and a have one order",
         [](argument_checks& check, const dgmm& r) { check.same_order({"c", r.c}, {"a", r.a}); });
}

}  // namespace troupe::blas
