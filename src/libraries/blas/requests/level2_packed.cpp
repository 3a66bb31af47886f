#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level2_packed.hpp>

#include <fmt/format.h>

namespace troupe::blas {
namespace {

/// ap holds one triangle of an n×n matrix.
argument_checks& holds_triangle(argument_checks& check, const operand& ap, std::int64_t n) {
  const auto order = static_cast<__int128>(n);
  const auto needed = order * (order + 1) / 2;
  return check.rule(ap.view.extent(0) == needed, errc::shape_mismatch, [&] {
    return fmt::format("{} must have n(n+1)/2 = {} elements for n = {}; it has {}", ap.name, needed,
                       n, ap.view.extent(0));
  });
}

/// A rule says how long ap is: an extent cannot be a product of two.
template <class R>
void describe_packed_triangle(description<R>& d) {
  d.layouts(layout::packed, {&R::ap});
  d.rule("ap has n(n+1)/2 elements", [](argument_checks& check, const R& r) {
    holds_triangle(check, {"ap", r.ap}, r.x.extent(0));
  });
}

template <class R>
void describe_packed_product(description<R>& d, std::initializer_list<dtype> types) {
  const extent elements = d.size("n(n+1)/2");
  const extent n = d.size("n");
  d.reads("ap", &R::ap, {elements}, "one triangle of the matrix");
  d.reads("x", &R::x, {n}, "vector");
  d.value("alpha", &R::alpha, "factor of the product");
  d.value("beta", &R::beta, "factor of the old y");
  d.updates("y", &R::y, {n}, "result").old_content_unless(d.zero(&R::beta));
  d.value("uplo", &R::uplo, "the triangle that ap holds");
  d.layouts(layout::vector, {&R::x, &R::y});
  d.same_type({&R::ap, &R::x, &R::y}, types);
  d.factors({&R::alpha, &R::beta}, &R::ap);
  describe_packed_triangle(d);
}

template <class R>
void describe_update(description<R>& d, std::initializer_list<dtype> types) {
  const extent n = d.size("n");
  const extent elements = d.size("n(n+1)/2");
  if constexpr (requires(R r) { r.y; }) {
    d.reads("x", &R::x, {n}, "first vector");
    d.reads("y", &R::y, {n}, "second vector");
  } else {
    d.reads("x", &R::x, {n}, "vector");
  }
  d.value("alpha", &R::alpha, "factor of the product");
  d.updates("ap", &R::ap, {elements}, "one triangle of the matrix, and the result");
  d.value("uplo", &R::uplo, "the triangle that ap holds");
  if constexpr (requires(R r) { r.y; }) {
    d.layouts(layout::vector, {&R::x, &R::y});
    d.same_type({&R::ap, &R::x, &R::y}, types);
  } else {
    d.layouts(layout::vector, {&R::x});
    d.same_type({&R::ap, &R::x}, types);
  }
  d.factors({&R::alpha}, &R::ap);
  describe_packed_triangle(d);
}

template <class R>
void describe_packed_triangular(description<R>& d) {
  const extent elements = d.size("n(n+1)/2");
  const extent n = d.size("n");
  d.reads("ap", &R::ap, {elements}, "triangular matrix");
  d.updates("x", &R::x, {n}, "vector and result");
  d.value("uplo", &R::uplo, "the triangle that ap holds");
  d.value("diag", &R::diag, "whether the diagonal is read, or taken to be ones");
  d.value("op_a", &R::op_a, "applied to the matrix");
  d.layouts(layout::vector, {&R::x});
  d.same_type({&R::ap, &R::x}, classic_types);
  describe_packed_triangle(d);
}

}  // namespace

void spmv::describe(description<spmv>& d) {
  d.about("Multiplies a symmetric matrix and a vector: y = alpha · a · x + beta · y.",
          "BLAS xSPMV, LAPACK for complex types");
  describe_packed_product(d, classic_types);
}

void hpmv::describe(description<hpmv>& d) {
  d.about("Multiplies a Hermitian matrix and a vector: y = alpha · a · x + beta · y.",
          "BLAS xHPMV");
  describe_packed_product(d, complex_types);
}

void spr::describe(description<spr>& d) {
  d.about("Adds a symmetric product of a vector with itself: a = alpha · x · xᵀ + a.", "BLAS xSPR");
  describe_update(d, real_types);
}

void hpr::describe(description<hpr>& d) {
  d.about("Adds a Hermitian product of a vector with itself: a = alpha · x · xᴴ + a.", "BLAS xHPR");
  describe_update(d, complex_types);
  d.real({&hpr::alpha});
}

void spr2::describe(description<spr2>& d) {
  d.about("Adds a symmetric product of two vectors: a = alpha · x · yᵀ + alpha · y · xᵀ + a.",
          "BLAS xSPR2");
  describe_update(d, real_types);
}

void hpr2::describe(description<hpr2>& d) {
  d.about("Adds a Hermitian product of two vectors: a = alpha · x · yᴴ + conj(alpha) · y · xᴴ + a.",
          "BLAS xHPR2");
  describe_update(d, complex_types);
}

void tpmv::describe(description<tpmv>& d) {
  d.about("Multiplies a vector by a triangular matrix: x = op_a(a) · x.", "BLAS xTPMV");
  describe_packed_triangular(d);
}

void tpsv::describe(description<tpsv>& d) {
  d.about("Solves a triangular system: x = op_a(a)⁻¹ · x.", "BLAS xTPSV");
  describe_packed_triangular(d);
}

}  // namespace troupe::blas
