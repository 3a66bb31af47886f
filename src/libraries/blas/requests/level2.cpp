#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level2.hpp>

namespace troupe::blas {
namespace {

template <class R>
void describe_outer(description<R>& d, std::initializer_list<dtype> types) {
  const extent m = d.size("m");
  const extent n = d.size("n");
  d.reads("x", &R::x, {m}, "column vector");
  d.reads("y", &R::y, {n}, "row vector");
  d.value("alpha", &R::alpha, "factor of the product");
  d.updates("a", &R::a, {m, n}, "result");
  d.layouts(layout::vector, {&R::x, &R::y});
  d.layouts(layout::matrix, {&R::a});
  d.same_type({&R::a, &R::x, &R::y}, types);
  d.factors({&R::alpha}, &R::a);
}

template <class R>
void describe_triangular(description<R>& d) {
  const extent n = d.size("n");
  d.reads("a", &R::a, {n, n}, "triangular matrix");
  d.updates("x", &R::x, {n}, "vector and result");
  d.value("uplo", &R::uplo, "the triangle of a that is read");
  d.value("diag", &R::diag, "whether a's diagonal is read, or taken to be ones");
  d.value("op_a", &R::op_a, "applied to a's elements");
  d.layouts(layout::matrix, {&R::a});
  d.layouts(layout::vector, {&R::x});
  d.same_type({&R::a, &R::x}, classic_types);
}

}  // namespace

void gemv::describe(description<gemv>& d) {
  const extent m = d.size("m");
  const extent n = d.size("n");
  d.about("Multiplies a matrix and a vector: y = alpha · op_a(a) · x + beta · y.", "BLAS xGEMV");
  d.reads("a", &gemv::a, {m, n}, "matrix");
  d.reads("x", &gemv::x, {n}, "vector");
  d.value("alpha", &gemv::alpha, "factor of the product");
  d.value("beta", &gemv::beta, "factor of the old y");
  d.updates("y", &gemv::y, {m}, "result").old_content_unless(d.zero(&gemv::beta));
  d.value("op_a", &gemv::op_a, "applied to a's elements");
  d.layouts(layout::matrix, {&gemv::a});
  d.layouts(layout::vector, {&gemv::x, &gemv::y});
  d.same_type({&gemv::a, &gemv::x, &gemv::y}, classic_types);
  d.factors({&gemv::alpha, &gemv::beta}, &gemv::a);
}

void ger::describe(description<ger>& d) {
  d.about("Adds a product of two real vectors to a matrix: a = alpha · x · yᵀ + a.", "BLAS xGER");
  describe_outer(d, real_types);
}

void geru::describe(description<geru>& d) {
  d.about("Adds a product of two complex vectors to a matrix: a = alpha · x · yᵀ + a.",
          "BLAS xGERU");
  describe_outer(d, complex_types);
}

void gerc::describe(description<gerc>& d) {
  d.about("Adds a product of two complex vectors to a matrix: a = alpha · x · yᴴ + a.",
          "BLAS xGERC");
  describe_outer(d, complex_types);
}

void trmv::describe(description<trmv>& d) {
  d.about("Multiplies a vector by a triangular matrix: x = op_a(a) · x.", "BLAS xTRMV");
  describe_triangular(d);
}

void trsv::describe(description<trsv>& d) {
  d.about("Solves a triangular system: x = op_a(a)⁻¹ · x.", "BLAS xTRSV");
  describe_triangular(d);
}

}  // namespace troupe::blas
