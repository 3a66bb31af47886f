#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level3_triangular.hpp>

namespace troupe::blas {
namespace {

template <class Request>
void describe_triangular(field_visitor& f, Request& r) {
  f.reads("a", r.a);
  f.value("alpha", r.alpha);
  f.updates("b", r.b, !r.alpha.is_zero());
  f.option("side", r.side, side::right);
  f.option("uplo", r.uplo, uplo::lower);
  f.option("diag", r.diag, diag::unit);
  f.option("op_a", r.op_a, op::conjugate);
  f.option("math", r.math, math_mode::bf16x9);
  f.value("deterministic", r.deterministic);
}

template <class Request>
result<void> check_triangular(const Request& r) {
  argument_checks check;
  check.matrix({"a", r.a}).square({"a", r.a}).matrix({"b", r.b}).written({"b", r.b});
  const std::int64_t order = r.b.extent(r.side == side::left ? 0 : 1);
  check.extents({"a", r.a}, {order, order}, "what stands beside b");
  check.type({"a", r.a}, classic_types).same_type({"b", r.b}, {"a", r.a});
  check.factor("alpha", r.alpha, r.a.type());
  math_fits(check, r.math, r.a.type());
  return check.apart({"b", r.b}, {"a", r.a}).verdict();
}

}  // namespace

void trmm::describe(field_visitor& f) { describe_triangular(f, *this); }
void trsm::describe(field_visitor& f) { describe_triangular(f, *this); }
result<void> trmm::validate() const { return check_triangular(*this); }
result<void> trsm::validate() const { return check_triangular(*this); }

void gemmt::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("c", c);
  f.option("uplo", uplo, blas::uplo::lower);
  f.option("op_a", op_a, op::conjugate);
  f.option("op_b", op_b, op::conjugate);
  f.option("math", math, math_mode::bf16x9);
  f.value("deterministic", deterministic);
}

result<void> gemmt::validate() const {
  argument_checks check;
  check.matrix({"a", a}).matrix({"b", b}).matrix({"c", c}).square({"c", c}).written({"c", c});
  check.extents({"b", b}, {a.extent(1), a.extent(0)}, "what a leaves to multiply");
  check.extents({"c", c}, {a.extent(0), a.extent(0)}, "a·b");
  check.type({"a", a}, classic_types).same_type({"b", b}, {"a", a}).same_type({"c", c}, {"a", a});
  check.factor("alpha", alpha, c.type()).factor("beta", beta, c.type());
  math_fits(check, math, c.type());
  return check.apart({"c", c}, {"a", a}).apart({"c", c}, {"b", b}).verdict();
}

}  // namespace troupe::blas
