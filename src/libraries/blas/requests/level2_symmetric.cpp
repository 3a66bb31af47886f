#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level2_symmetric.hpp>

namespace troupe::blas {
namespace {

template <class R>
void describe_product(description<R>& d, std::initializer_list<dtype> types) {
  const extent n = d.size("n");
  d.reads("a", &R::a, {n, n}, "matrix");
  d.reads("x", &R::x, {n}, "vector");
  d.value("alpha", &R::alpha, "factor of the product");
  d.value("beta", &R::beta, "factor of the old y");
  d.updates("y", &R::y, {n}, "result").old_content_unless(d.zero(&R::beta));
  d.value("uplo", &R::uplo, "the triangle of a that is read");
  d.value("deterministic", &R::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&R::a});
  d.layouts(layout::vector, {&R::x, &R::y});
  d.same_type({&R::a, &R::x, &R::y}, types);
  d.factors({&R::alpha, &R::beta}, &R::a);
}

template <class R>
void describe_rank_1(description<R>& d, std::initializer_list<dtype> types) {
  const extent n = d.size("n");
  d.reads("x", &R::x, {n}, "vector");
  d.value("alpha", &R::alpha, "factor of the product");
  d.updates("a", &R::a, {n, n}, "result");
  d.value("uplo", &R::uplo, "the triangle of a that is updated");
  d.layouts(layout::vector, {&R::x});
  d.layouts(layout::matrix, {&R::a});
  d.same_type({&R::a, &R::x}, types);
  d.factors({&R::alpha}, &R::a);
}

template <class R>
void describe_rank_2(description<R>& d, std::initializer_list<dtype> types) {
  const extent n = d.size("n");
  d.reads("x", &R::x, {n}, "first vector");
  d.reads("y", &R::y, {n}, "second vector");
  d.value("alpha", &R::alpha, "factor of the product");
  d.updates("a", &R::a, {n, n}, "result");
  d.value("uplo", &R::uplo, "the triangle of a that is updated");
  d.layouts(layout::vector, {&R::x, &R::y});
  d.layouts(layout::matrix, {&R::a});
  d.same_type({&R::a, &R::x, &R::y}, types);
  d.factors({&R::alpha}, &R::a);
}

}  // namespace

void symv::describe(description<symv>& d) {
  d.about("Multiplies a symmetric matrix and a vector: y = alpha · a · x + beta · y.",
          "BLAS xSYMV, LAPACK for complex types");
  describe_product(d, classic_types);
}

void hemv::describe(description<hemv>& d) {
  d.about("Multiplies a Hermitian matrix and a vector: y = alpha · a · x + beta · y.",
          "BLAS xHEMV");
  describe_product(d, complex_types);
}

void syr::describe(description<syr>& d) {
  d.about("Adds a symmetric product of a vector with itself: a = alpha · x · xᵀ + a.",
          "BLAS xSYR, LAPACK for complex types");
  describe_rank_1(d, classic_types);
}

void her::describe(description<her>& d) {
  d.about("Adds a Hermitian product of a vector with itself: a = alpha · x · xᴴ + a.", "BLAS xHER");
  describe_rank_1(d, complex_types);
  d.real({&her::alpha});
}

void syr2::describe(description<syr2>& d) {
  d.about("Adds a symmetric product of two vectors: a = alpha · x · yᵀ + alpha · y · xᵀ + a.",
          "BLAS xSYR2");
  describe_rank_2(d, classic_types);
}

void her2::describe(description<her2>& d) {
  d.about("Adds a Hermitian product of two vectors: a = alpha · x · yᴴ + conj(alpha) · y · xᴴ + a.",
          "BLAS xHER2");
  describe_rank_2(d, complex_types);
}

}  // namespace troupe::blas
