#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level2.hpp>

namespace troupe::blas {
namespace {

void describe_outer(field_visitor& f, any_tensor& x, any_tensor& y, any_tensor& a, scalar& alpha) {
  f.reads("x", x);
  f.reads("y", y);
  f.value("alpha", alpha);
  f.updates("a", a);
}

result<void> check_outer(const any_tensor& x, const any_tensor& y, const any_tensor& a,
                         const scalar& alpha, std::initializer_list<dtype> types) {
  argument_checks check;
  check.vector({"x", x}).vector({"y", y}).matrix({"a", a}).written({"a", a});
  check.extents({"a", a}, {x.extent(0), y.extent(0)}, "x·yᵀ");
  check.type({"a", a}, types).same_type({"x", x}, {"a", a}).same_type({"y", y}, {"a", a});
  check.factor("alpha", alpha, a.type());
  return check.apart({"a", a}, {"x", x}).apart({"a", a}, {"y", y}).verdict();
}

template <class Request>
void describe_triangular(field_visitor& f, Request& r) {
  f.reads("a", r.a);
  f.updates("x", r.x);
  f.option("uplo", r.uplo, uplo::lower);
  f.option("diag", r.diag, diag::unit);
  f.option("op_a", r.op_a, op::conjugate);
}

result<void> check_triangular(const any_tensor& a, const any_tensor& x) {
  argument_checks check;
  check.matrix({"a", a}).square({"a", a}).vector({"x", x}).written({"x", x});
  check.extents({"x", x}, {a.extent(0)}, "the order of a");
  check.type({"a", a}, classic_types).same_type({"x", x}, {"a", a});
  return check.apart({"x", x}, {"a", a}).verdict();
}

}  // namespace

void gemv::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("x", x);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("y", y, !beta.is_zero());
  f.option("op_a", op_a, op::conjugate);
}

result<void> gemv::validate() const {
  argument_checks check;
  check.matrix({"a", a}).vector({"x", x}).vector({"y", y}).written({"y", y});
  check.extents({"x", x}, {a.extent(1)}, "the row length of a");
  check.extents({"y", y}, {a.extent(0)}, "a·x");
  check.type({"a", a}, classic_types).same_type({"x", x}, {"a", a}).same_type({"y", y}, {"a", a});
  check.factor("alpha", alpha, a.type()).factor("beta", beta, a.type());
  return check.apart({"y", y}, {"a", a}).apart({"y", y}, {"x", x}).verdict();
}

void ger::describe(field_visitor& f) { describe_outer(f, x, y, a, alpha); }
void geru::describe(field_visitor& f) { describe_outer(f, x, y, a, alpha); }
void gerc::describe(field_visitor& f) { describe_outer(f, x, y, a, alpha); }
result<void> ger::validate() const { return check_outer(x, y, a, alpha, real_types); }
result<void> geru::validate() const { return check_outer(x, y, a, alpha, complex_types); }
result<void> gerc::validate() const { return check_outer(x, y, a, alpha, complex_types); }

void trmv::describe(field_visitor& f) { describe_triangular(f, *this); }
void trsv::describe(field_visitor& f) { describe_triangular(f, *this); }
result<void> trmv::validate() const { return check_triangular(a, x); }
result<void> trsv::validate() const { return check_triangular(a, x); }

}  // namespace troupe::blas
