#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level3.hpp>

namespace troupe::blas {

void gemm::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c, !beta.is_zero());
  f.option("op_a", op_a, op::conjugate);
  f.option("op_b", op_b, op::conjugate);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> gemm::validate() const {
  argument_checks check;
  check.matrix({"a", a}).matrix({"b", b}).matrix({"c", c}).written({"c", c});
  check.extents({"b", b}, {a.extent(1), b.extent(1)}, "what a leaves to multiply");
  check.extents({"c", c}, {a.extent(0), b.extent(1)}, "a·b");
  product_types(check, {"a", a}, {"b", b}, {"c", c});
  product_factor(check, "alpha", alpha, c.type());
  product_factor(check, "beta", beta, c.type());
  math_fits(check, math, a.type());
  return check.apart({"c", c}, {"a", a}).apart({"c", c}, {"b", b}).verdict();
}

void geam::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c, c.same_view(a) || c.same_view(b));  // no other overlap is valid
  f.option("op_a", op_a, op::conjugate);
  f.option("op_b", op_b, op::conjugate);
}

result<void> geam::validate() const {
  argument_checks check;
  check.matrix({"a", a}).matrix({"b", b}).matrix({"c", c}).written({"c", c});
  check.same_extents({"b", b}, {"a", a}).same_extents({"c", c}, {"a", a});
  check.type({"a", a}, classic_types).same_type({"b", b}, {"a", a}).same_type({"c", c}, {"a", a});
  check.factor("alpha", alpha, a.type()).factor("beta", beta, a.type());
  return check.apart_or_same({"c", c}, {"a", a}).apart_or_same({"c", c}, {"b", b}).verdict();
}

void dgmm::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("x", x);
  f.updates("c", c, c.same_view(a));
  f.option("side", side, blas::side::right);
}

result<void> dgmm::validate() const {
  argument_checks check;
  check.matrix({"a", a}).vector({"x", x}).matrix({"c", c}).written({"c", c});
  check.same_extents({"c", c}, {"a", a}).same_order({"c", c}, {"a", a});
  if (side == blas::side::left) {
    check.extents({"x", x}, {a.extent(0)}, "the column length of a");
  } else {
    check.extents({"x", x}, {a.extent(1)}, "the row length of a");
  }
  check.type({"a", a}, classic_types).same_type({"x", x}, {"a", a}).same_type({"c", c}, {"a", a});
  return check.apart_or_same({"c", c}, {"a", a}).apart({"c", c}, {"x", x}).verdict();
}

}  // namespace troupe::blas
