#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level2_symmetric.hpp>

namespace troupe::blas {
namespace {

template <class Request>
void describe_product(field_visitor& f, Request& r) {
  f.reads("a", r.a);
  f.reads("x", r.x);
  f.value("alpha", r.alpha);
  f.value("beta", r.beta);
  f.updates("y", r.y, !r.beta.is_zero());
  f.option("uplo", r.uplo, uplo::lower);
  f.value("deterministic", r.deterministic);
}

template <class Request>
result<void> check_product(const Request& r, std::initializer_list<dtype> types) {
  argument_checks check;
  check.matrix({"a", r.a}).square({"a", r.a});
  check.vector({"x", r.x}).vector({"y", r.y}).written({"y", r.y});
  check.extents({"x", r.x}, {r.a.extent(0)}, "the order of a");
  check.extents({"y", r.y}, {r.a.extent(0)}, "a·x");
  check.type({"a", r.a}, types).same_type({"x", r.x}, {"a", r.a}).same_type({"y", r.y}, {"a", r.a});
  check.factor("alpha", r.alpha, r.a.type()).factor("beta", r.beta, r.a.type());
  return check.apart({"y", r.y}, {"a", r.a}).apart({"y", r.y}, {"x", r.x}).verdict();
}

argument_checks& updated_triangle(argument_checks& check, const operand& a, const operand& x) {
  check.vector(x).matrix(a).square(a).written(a);
  check.extents(x, {a.view.extent(0)}, "the order of a");
  return check.same_type(x, a).apart(a, x);
}

result<void> check_rank_1(const any_tensor& x, const any_tensor& a, const scalar& alpha,
                          std::initializer_list<dtype> types) {
  argument_checks check;
  check.matrix({"a", a}).type({"a", a}, types).factor("alpha", alpha, a.type());
  return updated_triangle(check, {"a", a}, {"x", x}).verdict();
}

result<void> check_rank_2(const any_tensor& x, const any_tensor& y, const any_tensor& a,
                          const scalar& alpha, std::initializer_list<dtype> types) {
  argument_checks check;
  check.matrix({"a", a}).type({"a", a}, types).factor("alpha", alpha, a.type());
  updated_triangle(check, {"a", a}, {"x", x});
  return updated_triangle(check, {"a", a}, {"y", y}).verdict();
}

}  // namespace

void symv::describe(field_visitor& f) { describe_product(f, *this); }
void hemv::describe(field_visitor& f) { describe_product(f, *this); }
result<void> symv::validate() const { return check_product(*this, classic_types); }
result<void> hemv::validate() const { return check_product(*this, complex_types); }

void syr::describe(field_visitor& f) {
  f.reads("x", x);
  f.value("alpha", alpha);
  f.updates("a", a);
  f.option("uplo", uplo, blas::uplo::lower);
}
void her::describe(field_visitor& f) {
  f.reads("x", x);
  f.value("alpha", alpha);
  f.updates("a", a);
  f.option("uplo", uplo, blas::uplo::lower);
}
void syr2::describe(field_visitor& f) {
  f.reads("x", x);
  f.reads("y", y);
  f.value("alpha", alpha);
  f.updates("a", a);
  f.option("uplo", uplo, blas::uplo::lower);
}
void her2::describe(field_visitor& f) {
  f.reads("x", x);
  f.reads("y", y);
  f.value("alpha", alpha);
  f.updates("a", a);
  f.option("uplo", uplo, blas::uplo::lower);
}

result<void> syr::validate() const { return check_rank_1(x, a, alpha, classic_types); }
result<void> her::validate() const {
  argument_checks check;
  if (!check.real_factor("alpha", alpha).good()) return check.verdict();
  return check_rank_1(x, a, alpha, complex_types);
}
result<void> syr2::validate() const { return check_rank_2(x, y, a, alpha, classic_types); }
result<void> her2::validate() const { return check_rank_2(x, y, a, alpha, complex_types); }

}  // namespace troupe::blas
