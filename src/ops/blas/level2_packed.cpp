#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level2_packed.hpp>

namespace troupe::blas {
namespace {

/// ap holds one triangle of an n×n matrix.
argument_checks& packed_triangle(argument_checks& check, const operand& ap, std::int64_t n) {
  check.packed_vector(ap);
  const auto order = static_cast<__int128>(n);
  const auto needed = order * (order + 1) / 2;
  return check.rule(ap.view.extent(0) == needed, errc::shape_mismatch, [&] {
    return std::string(ap.name) + " has " + std::to_string(ap.view.extent(0)) +
           " elements but a triangle of order " + std::to_string(n) + " has n(n+1)/2";
  });
}

template <class Request>
void describe_product(field_visitor& f, Request& r) {
  f.reads("ap", r.ap);
  f.reads("x", r.x);
  f.value("alpha", r.alpha);
  f.value("beta", r.beta);
  f.updates("y", r.y, !r.beta.is_zero());
  f.option("uplo", r.uplo, uplo::lower);
}

template <class Request>
result<void> check_product(const Request& r, std::initializer_list<dtype> types) {
  argument_checks check;
  check.vector({"x", r.x}).vector({"y", r.y}).written({"y", r.y});
  packed_triangle(check, {"ap", r.ap}, r.x.extent(0)).same_extents({"y", r.y}, {"x", r.x});
  check.type({"ap", r.ap}, types);
  check.same_type({"x", r.x}, {"ap", r.ap}).same_type({"y", r.y}, {"ap", r.ap});
  check.factor("alpha", r.alpha, r.ap.type()).factor("beta", r.beta, r.ap.type());
  return check.apart({"y", r.y}, {"ap", r.ap}).apart({"y", r.y}, {"x", r.x}).verdict();
}

template <class Request>
void describe_update(field_visitor& f, Request& r) {
  f.reads("x", r.x);
  if constexpr (requires { r.y; }) f.reads("y", r.y);
  f.value("alpha", r.alpha);
  f.updates("ap", r.ap);
  f.option("uplo", r.uplo, uplo::lower);
}

template <class Request>
argument_checks check_update(const Request& r, std::initializer_list<dtype> types) {
  argument_checks check;
  const auto added = [&](const operand& one) {
    check.vector(one).same_type(one, {"ap", r.ap}).apart({"ap", r.ap}, one);
  };
  packed_triangle(check.vector({"x", r.x}), {"ap", r.ap}, r.x.extent(0)).written({"ap", r.ap});
  check.type({"ap", r.ap}, types);
  added({"x", r.x});
  if constexpr (requires { r.y; }) {
    added({"y", r.y});
    check.same_extents({"y", r.y}, {"x", r.x});
  }
  return check;
}

template <class Request>
void describe_triangular(field_visitor& f, Request& r) {
  f.reads("ap", r.ap);
  f.updates("x", r.x);
  f.option("uplo", r.uplo, uplo::lower);
  f.option("diag", r.diag, diag::unit);
  f.option("op_a", r.op_a, storage_op::conjugate);
}

result<void> check_triangular(const any_tensor& ap, const any_tensor& x) {
  argument_checks check;
  check.vector({"x", x}).written({"x", x});
  packed_triangle(check, {"ap", ap}, x.extent(0));
  check.type({"ap", ap}, classic_types).same_type({"x", x}, {"ap", ap});
  return check.apart({"x", x}, {"ap", ap}).verdict();
}

}  // namespace

void spmv::describe(field_visitor& f) { describe_product(f, *this); }
void hpmv::describe(field_visitor& f) { describe_product(f, *this); }
void spr::describe(field_visitor& f) { describe_update(f, *this); }
void hpr::describe(field_visitor& f) { describe_update(f, *this); }
void spr2::describe(field_visitor& f) { describe_update(f, *this); }
void hpr2::describe(field_visitor& f) { describe_update(f, *this); }
void tpmv::describe(field_visitor& f) { describe_triangular(f, *this); }
void tpsv::describe(field_visitor& f) { describe_triangular(f, *this); }
result<void> spmv::validate() const { return check_product(*this, classic_types); }
result<void> hpmv::validate() const { return check_product(*this, complex_types); }
result<void> spr::validate() const {
  return check_update(*this, real_types).factor("alpha", alpha, ap.type()).verdict();
}
result<void> hpr::validate() const {
  return check_update(*this, complex_types).real_factor("alpha", alpha).verdict();
}
result<void> spr2::validate() const {
  return check_update(*this, real_types).factor("alpha", alpha, ap.type()).verdict();
}
result<void> hpr2::validate() const { return check_update(*this, complex_types).verdict(); }
result<void> tpmv::validate() const { return check_triangular(ap, x); }
result<void> tpsv::validate() const { return check_triangular(ap, x); }

}  // namespace troupe::blas
