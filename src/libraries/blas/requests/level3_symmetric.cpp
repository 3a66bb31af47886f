#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level3_symmetric.hpp>

#include <fmt/format.h>

namespace troupe::blas {
namespace {

template <class R>
void describe_matrix_product(description<R>& d, std::initializer_list<dtype> types) {
  const extent m = d.size("m");
  const extent n = d.size("n");
  d.reads("a", &R::a, {m, m}, "the factor of which one triangle is read")
      .shape_where(d.is(&R::side, {side::right}), {n, n});
  d.reads("b", &R::b, {m, n}, "other factor");
  d.value("alpha", &R::alpha, "factor of the product");
  d.value("beta", &R::beta, "factor of the old c");
  d.updates("c", &R::c, {m, n}, "result").old_content_unless(d.zero(&R::beta));
  d.value("side", &R::side, "the side of b that a is on");
  d.value("uplo", &R::uplo, "the triangle of a that is read");
  d.value("math", &R::math, "arithmetic of the product").only_where(takes_math(d, &R::a));
  d.value("deterministic", &R::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&R::a, &R::b, &R::c});
  d.same_type({&R::a, &R::b, &R::c}, types);
  d.factors({&R::alpha, &R::beta}, &R::a);
}

/// The form of a for herk and her2k: as it is in the order of c, conjugated in the other order.
argument_checks& hermitian_order(argument_checks& check, const operand& c, const operand& a,
                                 std::string_view name, op applied) {
  if (!check.good() || a.view.empty() || c.view.empty()) return check;
  for (const auto o : {order::column_major, order::row_major}) {
    const order of_a = applied == op::none ? o : other(o);
    if (leading_dimension(c.view, o) != 0 && leading_dimension(a.view, of_a) != 0) return check;
  }
  return check.rule(false, errc::layout_unsupported, [&] {
    const auto order_of = [](const operand& x) {
      return leading_dimension(x.view, order::row_major) != 0 ? "row-major" : "column-major";
    };
    const bool as_it_is = applied == op::none;
    return fmt::format("{} must have {} {} because {} is {}; {} is {}, {} is {}", a.name,
                       as_it_is ? "the order of" : "the order opposite to that of", c.name, name,
                       as_it_is ? "none" : "conjugate", a.name, order_of(a), c.name, order_of(c));
  });
}

}  // namespace

void symm::describe(description<symm>& d) {
  d.about(
      "Multiplies by a symmetric matrix: c = alpha · a · b + beta · c (left), or alpha · b · a + "
      "beta · c.",
      "BLAS xSYMM");
  describe_matrix_product(d, classic_types);
  d.rule("b and c have one order",
         [](argument_checks& check, const symm& r) { check.same_order({"b", r.b}, {"c", r.c}); });
}

void hemm::describe(description<hemm>& d) {
  d.about(
      "Multiplies by a Hermitian matrix: c = alpha · a · b + beta · c (left), or alpha · b · a + "
      "beta · c.",
      "BLAS xHEMM");
  describe_matrix_product(d, complex_types);
  d.rule("a, b and c have one order", [](argument_checks& check, const hemm& r) {
    check.same_order({"b", r.b}, {"c", r.c}).same_order({"a", r.a}, {"b", r.b});
    check.same_order({"a", r.a}, {"c", r.c});
  });
}

void syrk::describe(description<syrk>& d) {
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about("Adds a symmetric product of a matrix with itself: c = alpha · a · aᵀ + beta · c.",
          "BLAS xSYRK");
  d.reads("a", &syrk::a, {n, k}, "factor");
  d.value("alpha", &syrk::alpha, "factor of the product");
  d.value("beta", &syrk::beta, "factor of the old c");
  d.updates("c", &syrk::c, {n, n}, "symmetric matrix");
  d.value("uplo", &syrk::uplo, "the triangle of c that is updated");
  d.value("math", &syrk::math, "arithmetic of the product").only_where(takes_math(d, &syrk::c));
  d.value("deterministic", &syrk::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&syrk::a, &syrk::c});
  d.same_type({&syrk::a, &syrk::c}, classic_types);
  d.factors({&syrk::alpha, &syrk::beta}, &syrk::c);
}

void herk::describe(description<herk>& d) {
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about(
      "Adds a Hermitian product of a matrix with itself: c = alpha · op_a(a) · op_a(a)ᴴ + beta · "
      "c.",
      "BLAS xHERK");
  d.reads("a", &herk::a, {n, k}, "factor");
  d.value("alpha", &herk::alpha, "factor of the product");
  d.value("beta", &herk::beta, "factor of the old c");
  d.updates("c", &herk::c, {n, n}, "Hermitian matrix");
  d.value("uplo", &herk::uplo, "the triangle of c that is updated");
  d.value("op_a", &herk::op_a, "applied to the elements of a");
  d.value("math", &herk::math, "arithmetic of the product").only_where(takes_math(d, &herk::c));
  d.value("deterministic", &herk::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&herk::a, &herk::c});
  d.same_type({&herk::a, &herk::c}, complex_types);
  d.real({&herk::alpha, &herk::beta});
  d.rule("a has the order of c, or the other order where op_a is conjugate",
         [](argument_checks& check, const herk& r) {
           hermitian_order(check, {"c", r.c}, {"a", r.a}, "op_a", r.op_a);
         });
}

void syr2k::describe(description<syr2k>& d) {
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about(
      "Adds a symmetric product of two matrices: c = alpha · a · bᵀ + alpha · b · aᵀ + beta · c.",
      "BLAS xSYR2K");
  d.reads("a", &syr2k::a, {n, k}, "first factor");
  d.reads("b", &syr2k::b, {n, k}, "second factor");
  d.value("alpha", &syr2k::alpha, "factor of the product");
  d.value("beta", &syr2k::beta, "factor of the old c");
  d.updates("c", &syr2k::c, {n, n}, "symmetric matrix");
  d.value("uplo", &syr2k::uplo, "the triangle of c that is updated");
  d.value("math", &syr2k::math, "arithmetic of the product").only_where(takes_math(d, &syr2k::c));
  d.value("deterministic", &syr2k::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&syr2k::a, &syr2k::b, &syr2k::c});
  d.same_type({&syr2k::a, &syr2k::b, &syr2k::c}, classic_types);
  d.factors({&syr2k::alpha, &syr2k::beta}, &syr2k::c);
  d.rule("a and b have one order",
         [](argument_checks& check, const syr2k& r) { check.same_order({"b", r.b}, {"a", r.a}); });
}

void her2k::describe(description<her2k>& d) {
  const extent n = d.size("n");
  const extent k = d.size("k");
  d.about(
      "Adds a Hermitian product of two matrices: c = alpha · op_ab(a) · op_ab(b)ᴴ + "
      "conj(alpha) · op_ab(b) · op_ab(a)ᴴ + beta · c.",
      "BLAS xHER2K");
  d.reads("a", &her2k::a, {n, k}, "first factor");
  d.reads("b", &her2k::b, {n, k}, "second factor");
  d.value("alpha", &her2k::alpha, "factor of the product");
  d.value("beta", &her2k::beta, "factor of the old c");
  d.updates("c", &her2k::c, {n, n}, "Hermitian matrix");
  d.value("uplo", &her2k::uplo, "the triangle of c that is updated");
  d.value("op_ab", &her2k::op_ab, "applied to the elements of a and b");
  d.value("math", &her2k::math, "arithmetic of the product").only_where(takes_math(d, &her2k::c));
  d.value("deterministic", &her2k::deterministic, "the same bits on every run");
  d.layouts(layout::matrix, {&her2k::a, &her2k::b, &her2k::c});
  d.same_type({&her2k::a, &her2k::b, &her2k::c}, complex_types);
  d.real({&her2k::beta});
  d.rule("a and b have one order",
         [](argument_checks& check, const her2k& r) { check.same_order({"b", r.b}, {"a", r.a}); });
  d.rule("a and b have the order of c, or the other order where op_ab is conjugate",
         [](argument_checks& check, const her2k& r) {
           hermitian_order(check, {"c", r.c}, {"a", r.a}, "op_ab", r.op_ab);
           hermitian_order(check, {"c", r.c}, {"b", r.b}, "op_ab", r.op_ab);
         });
}

}  // namespace troupe::blas
