#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level3_symmetric.hpp>

namespace troupe::blas {
namespace {

template <class Request>
void describe_product(field_visitor& f, Request& r) {
  f.reads("a", r.a);
  f.reads("b", r.b);
  f.value("alpha", r.alpha);
  f.value("beta", r.beta);
  f.updates("c", r.c, !r.beta.is_zero());
  f.option("side", r.side, side::right);
  f.option("uplo", r.uplo, uplo::lower);
  f.option("math", r.math, math_mode::bf16x9);
  f.value("deterministic", r.deterministic);
}

template <class Request>
argument_checks check_product(const Request& r, std::initializer_list<dtype> types) {
  argument_checks check;
  check.matrix({"a", r.a}).square({"a", r.a}).matrix({"b", r.b});
  check.matrix({"c", r.c}).written({"c", r.c}).same_extents({"c", r.c}, {"b", r.b});
  const std::int64_t order = r.b.extent(r.side == side::left ? 0 : 1);
  check.extents({"a", r.a}, {order, order}, "what multiplies b");
  check.same_order({"b", r.b}, {"c", r.c});
  check.type({"a", r.a}, types).same_type({"b", r.b}, {"a", r.a});
  check.same_type({"c", r.c}, {"a", r.a});
  check.factor("alpha", r.alpha, r.a.type()).factor("beta", r.beta, r.a.type());
  math_fits(check, r.math, r.a.type());
  check.apart({"c", r.c}, {"a", r.a}).apart({"c", r.c}, {"b", r.b});
  return check;
}

/// One triangle of c is updated by a product with a (and b) of [n, k].
argument_checks& updated_triangle(argument_checks& check, const operand& c, const operand& a,
                                  std::initializer_list<dtype> types) {
  check.matrix(a).matrix(c).square(c).written(c);
  check.extents(c, {a.view.extent(0), a.view.extent(0)}, "the product");
  return check.type(c, types).same_type(a, c).apart(c, a);
}

/// What herk and her2k take: a in the order of c as it is, in the other order conjugated.
argument_checks& hermitian_order(argument_checks& check, const operand& c, const operand& a,
                                 op applied) {
  if (!check.good() || a.view.empty() || c.view.empty()) return check;
  for (const auto o : {order::column_major, order::row_major}) {
    const order of_a = applied == op::none ? o : other(o);
    if (leading_dimension(c.view, o) != 0 && leading_dimension(a.view, of_a) != 0) return check;
  }
  return check.rule(false, errc::layout_unsupported, [&] {
    return std::string(a.name) + " must be in " +
           (applied == op::none ? "the same order as c"
                                : "the other order than c, to be conjugated") +
           " (row- or column-major): " + std::string(a.name) + " is " + a.view.to_string() +
           ", c is " + c.view.to_string();
  });
}

}  // namespace

void symm::describe(field_visitor& f) { describe_product(f, *this); }
void hemm::describe(field_visitor& f) { describe_product(f, *this); }
result<void> symm::validate() const { return check_product(*this, classic_types).verdict(); }
result<void> hemm::validate() const {
  argument_checks check = check_product(*this, complex_types);
  check.same_order({"a", a}, {"b", b}).same_order({"a", a}, {"c", c});
  return check.verdict();
}

void syrk::describe(field_visitor& f) {
  f.reads("a", a);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c);
  f.option("uplo", uplo, blas::uplo::lower);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> syrk::validate() const {
  argument_checks check;
  updated_triangle(check, {"c", c}, {"a", a}, classic_types);
  check.factor("alpha", alpha, c.type()).factor("beta", beta, c.type());
  return math_fits(check, math, c.type()).verdict();
}

void herk::describe(field_visitor& f) {
  f.reads("a", a);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c);
  f.option("uplo", uplo, blas::uplo::lower);
  f.option("op_a", op_a, op::conjugate);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> herk::validate() const {
  argument_checks check;
  updated_triangle(check, {"c", c}, {"a", a}, complex_types);
  check.real_factor("alpha", alpha).real_factor("beta", beta);
  hermitian_order(check, {"c", c}, {"a", a}, op_a);
  return math_fits(check, math, c.type()).verdict();
}

void syr2k::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c);
  f.option("uplo", uplo, blas::uplo::lower);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> syr2k::validate() const {
  argument_checks check;
  updated_triangle(check, {"c", c}, {"a", a}, classic_types);
  check.matrix({"b", b}).same_extents({"b", b}, {"a", a}).same_order({"b", b}, {"a", a});
  check.same_type({"b", b}, {"a", a}).apart({"c", c}, {"b", b});
  check.factor("alpha", alpha, c.type()).factor("beta", beta, c.type());
  return math_fits(check, math, c.type()).verdict();
}

void her2k::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c);
  f.option("uplo", uplo, blas::uplo::lower);
  f.option("op_ab", op_ab, op::conjugate);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> her2k::validate() const {
  argument_checks check;
  updated_triangle(check, {"c", c}, {"a", a}, complex_types);
  check.matrix({"b", b}).same_extents({"b", b}, {"a", a}).same_order({"b", b}, {"a", a});
  check.same_type({"b", b}, {"a", a}).apart({"c", c}, {"b", b});
  check.real_factor("beta", beta);
  hermitian_order(check, {"c", c}, {"a", a}, op_ab);
  hermitian_order(check, {"c", c}, {"b", b}, op_ab);
  return math_fits(check, math, c.type()).verdict();
}

}  // namespace troupe::blas
