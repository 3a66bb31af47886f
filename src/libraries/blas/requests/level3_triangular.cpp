#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level3_triangular.hpp>

namespace troupe::blas {
namespace {

template <class R>
void describe_triangular(description<R>& d, std::string_view b, std::string_view math) {
  const extent m = d.size("m");
  const extent n = d.size("n");
  d.reads("a", &R::a, {m, m}, "triangular matrix")
      .shape_where(d.is(&R::side, {side::right}), {n, n});
  d.value("alpha", &R::alpha, "factor of the old b");
  d.updates("b", &R::b, {m, n}, b).old_content_unless(d.zero(&R::alpha));
  d.value("side", &R::side, "the side of b that a is on");
  d.value("uplo", &R::uplo, "the triangle of a that is read");
  d.value("diag", &R::diag, "whether the diagonal of a is read, or taken to be ones");
  d.value("op_a", &R::op_a, "applied to a's elements");
  d.value("math", &R::math, math).only_where(takes_math(d, &R::a));
  d.value("deterministic", &R::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&R::a, &R::b});
  d.same_type({&R::a, &R::b}, classic_types);
  d.factors({&R::alpha}, &R::a);
}

}  // namespace

void trmm::describe(description<trmm>& d) {
  d.about(
      "Multiplies by a triangular matrix: b = alpha · op_a(a) · b (left), or alpha · b · op_a(a) "
      "(right).",
      "BLAS xTRMM");
  describe_triangular(d, "other factor, then the result", "arithmetic of the product");
}

void trsm::describe(description<trsm>& d) {
  d.about(
      "Solves triangular systems: op_a(a) · x = alpha · b (left), or x · op_a(a) = alpha · b "
      "(right).",
      "BLAS xTRSM");
  describe_triangular(d, "right sides, then the solutions",
                      "arithmetic of the products in the solution");
}

void gemmt::describe(description<gemmt>& d) {
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about("Multiplies two matrices into one triangle: c = alpha · op_a(a) · op_b(b) + beta · c.",
          "LAPACK 3.12 xGEMMTR, OpenBLAS xGEMMT");
  d.reads("a", &gemmt::a, {n, k}, "left factor");
  d.reads("b", &gemmt::b, {k, n}, "right factor");
  d.value("alpha", &gemmt::alpha, "factor of the product");
  d.value("beta", &gemmt::beta, "factor of the old c");
  d.updates("c", &gemmt::c, {n, n}, "matrix of which one triangle is the result");
  d.value("uplo", &gemmt::uplo, "the triangle of c that is updated");
  d.value("op_a", &gemmt::op_a, "applied to a's elements");
  d.value("op_b", &gemmt::op_b, "applied to b's elements");
  d.value("math", &gemmt::math, "arithmetic of the product").only_where(takes_math(d, &gemmt::c));
  d.value("deterministic", &gemmt::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&gemmt::a, &gemmt::b, &gemmt::c});
  d.same_type({&gemmt::a, &gemmt::b, &gemmt::c}, classic_types);
  d.factors({&gemmt::alpha, &gemmt::beta}, &gemmt::c);
}

}  // namespace troupe::blas
