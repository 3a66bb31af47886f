#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level2_banded.hpp>

namespace troupe::blas {
namespace {

argument_checks& has_a_diagonal(argument_checks& check, const operand& ab) {
  return check.rule(ab.view.extent(0) > 0, errc::shape_mismatch,
                    [&] { return std::string(ab.name) + " must have at least one diagonal"; });
}

/// The extent k + 1 says nothing by itself: no other tensor has k.
template <class R>
void describe_banded_triangle(description<R>& d) {
  d.layouts(layout::column_major, {&R::ab});
  d.rule("ab has at least one diagonal",
         [](argument_checks& check, const R& r) { has_a_diagonal(check, {"ab", r.ab}); });
}

// ku is compared by subtraction: kl + ku + 1 of hostile values could wrap around.
argument_checks& has_diagonals_of(argument_checks& check, const gbmv& r) {
  const std::int64_t rows = r.ab.extent(0);
  return check.rule(r.kl >= 0 && r.ku >= 0 && r.kl < rows && r.ku == rows - 1 - r.kl,
                    errc::shape_mismatch, [&] {
                      return "ab has " + std::to_string(rows) + " diagonals but kl is " +
                             std::to_string(r.kl) + " and ku is " + std::to_string(r.ku);
                    });
}

template <class R>
void describe_banded_product(description<R>& d, std::initializer_list<dtype> types) {
  const extent k = d.size("k");
  const extent n = d.size("n");
  d.reads("ab", &R::ab, {k + 1, n}, "the diagonals of one triangle of the matrix");
  d.reads("x", &R::x, {n}, "vector");
  d.value("alpha", &R::alpha, "factor of the product");
  d.value("beta", &R::beta, "factor of the old y");
  d.updates("y", &R::y, {n}, "result").old_content_unless(d.zero(&R::beta));
  d.value("uplo", &R::uplo, "the triangle that ab holds");
  d.layouts(layout::vector, {&R::x, &R::y});
  d.same_type({&R::ab, &R::x, &R::y}, types);
  d.factors({&R::alpha, &R::beta}, &R::ab);
  describe_banded_triangle(d);
}

template <class R>
void describe_banded_triangular(description<R>& d) {
  const extent k = d.size("k");
  const extent n = d.size("n");
  d.reads("ab", &R::ab, {k + 1, n}, "the diagonals of the triangular matrix");
  d.updates("x", &R::x, {n}, "vector and result");
  d.value("uplo", &R::uplo, "the triangle that ab holds");
  d.value("diag", &R::diag, "whether the main diagonal is read, or taken to be ones");
  d.value("op_a", &R::op_a, "applied to the matrix");
  d.layouts(layout::vector, {&R::x});
  d.same_type({&R::ab, &R::x}, classic_types);
  describe_banded_triangle(d);
}

}  // namespace

void gbmv::describe(description<gbmv>& d) {
  const extent diagonals = d.size("kl + ku + 1");
  const extent m = d.size("m");
  const extent n = d.size("n");
  const condition transposes =
      d.is(&gbmv::op_a, {storage_op::transpose, storage_op::conjugate_transpose});
  d.about("Multiplies a general band matrix and a vector: y = alpha · op_a(a) · x + beta · y.",
          "BLAS xGBMV");
  d.reads("ab", &gbmv::ab, {diagonals, n}, "the diagonals of the matrix");
  d.reads("x", &gbmv::x, {n}, "vector").shape_where(transposes, {m});
  d.value("kl", &gbmv::kl, "diagonals below the main one");
  d.value("ku", &gbmv::ku, "diagonals above the main one");
  d.value("alpha", &gbmv::alpha, "factor of the product");
  d.value("beta", &gbmv::beta, "factor of the old y");
  d.updates("y", &gbmv::y, {m}, "result")
      .shape_where(transposes, {n})
      .old_content_unless(d.zero(&gbmv::beta));
  d.value("op_a", &gbmv::op_a, "applied to the matrix");
  d.layouts(layout::column_major, {&gbmv::ab});
  d.layouts(layout::vector, {&gbmv::x, &gbmv::y});
  d.same_type({&gbmv::ab, &gbmv::x, &gbmv::y}, classic_types);
  d.factors({&gbmv::alpha, &gbmv::beta}, &gbmv::ab);
  d.rule("ab has kl + ku + 1 diagonals, and kl and ku are at least 0",
         [](argument_checks& check, const gbmv& r) { has_diagonals_of(check, r); });
}

void sbmv::describe(description<sbmv>& d) {
  d.about("Multiplies a symmetric band matrix and a vector: y = alpha · a · x + beta · y.",
          "BLAS xSBMV, extended to complex types");
  describe_banded_product(d, classic_types);
}

void hbmv::describe(description<hbmv>& d) {
  d.about("Multiplies a Hermitian band matrix and a vector: y = alpha · a · x + beta · y.",
          "BLAS xHBMV");
  describe_banded_product(d, complex_types);
}

void tbmv::describe(description<tbmv>& d) {
  d.about("Multiplies a vector by a triangular band matrix: x = op_a(a) · x.", "BLAS xTBMV");
  describe_banded_triangular(d);
}

void tbsv::describe(description<tbsv>& d) {
  d.about("Solves a triangular band system: x = op_a(a)⁻¹ · x.", "BLAS xTBSV");
  describe_banded_triangular(d);
}

}  // namespace troupe::blas
