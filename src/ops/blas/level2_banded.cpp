#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level2_banded.hpp>

namespace troupe::blas {
namespace {

argument_checks& has_diagonals(argument_checks& check, const operand& ab) {
  check.column_major(ab);
  return check.rule(ab.view.extent(0) > 0, errc::shape_mismatch,
                    [&] { return std::string(ab.name) + " must have at least one diagonal"; });
}

template <class Request>
void describe_product(field_visitor& f, Request& r) {
  f.reads("ab", r.ab);
  f.reads("x", r.x);
  f.value("alpha", r.alpha);
  f.value("beta", r.beta);
  f.updates("y", r.y, !r.beta.is_zero());
  f.option("uplo", r.uplo, uplo::lower);
}

template <class Request>
result<void> check_product(const Request& r, std::initializer_list<dtype> types) {
  argument_checks check;
  has_diagonals(check, {"ab", r.ab}).vector({"x", r.x}).vector({"y", r.y}).written({"y", r.y});
  check.extents({"x", r.x}, {r.ab.extent(1)}, "the order of a");
  check.extents({"y", r.y}, {r.ab.extent(1)}, "a·x");
  check.type({"ab", r.ab}, types);
  check.same_type({"x", r.x}, {"ab", r.ab}).same_type({"y", r.y}, {"ab", r.ab});
  check.factor("alpha", r.alpha, r.ab.type()).factor("beta", r.beta, r.ab.type());
  return check.apart({"y", r.y}, {"ab", r.ab}).apart({"y", r.y}, {"x", r.x}).verdict();
}

template <class Request>
void describe_triangular(field_visitor& f, Request& r) {
  f.reads("ab", r.ab);
  f.updates("x", r.x);
  f.option("uplo", r.uplo, uplo::lower);
  f.option("diag", r.diag, diag::unit);
  f.option("op_a", r.op_a, storage_op::conjugate);
}

result<void> check_triangular(const any_tensor& ab, const any_tensor& x) {
  argument_checks check;
  has_diagonals(check, {"ab", ab}).vector({"x", x}).written({"x", x});
  check.extents({"x", x}, {ab.extent(1)}, "the order of a");
  check.type({"ab", ab}, classic_types).same_type({"x", x}, {"ab", ab});
  return check.apart({"x", x}, {"ab", ab}).verdict();
}

}  // namespace

void gbmv::describe(field_visitor& f) {
  f.reads("ab", ab);
  f.reads("x", x);
  f.value("kl", kl);
  f.value("ku", ku);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.updates("y", y, !beta.is_zero());
  f.option("op_a", op_a, storage_op::conjugate);
}

result<void> gbmv::validate() const {
  argument_checks check;
  has_diagonals(check, {"ab", ab}).vector({"x", x}).vector({"y", y}).written({"y", y});
  // ku is compared by subtraction: kl + ku + 1 of hostile values could wrap around.
  check.rule(kl >= 0 && ku >= 0 && kl < ab.extent(0) && ku == ab.extent(0) - 1 - kl,
             errc::shape_mismatch, [&] {
               return "ab has " + std::to_string(ab.extent(0)) + " diagonals but kl is " +
                      std::to_string(kl) + " and ku is " + std::to_string(ku);
             });
  const bool transposes = op_a == storage_op::transpose || op_a == storage_op::conjugate_transpose;
  if (transposes) {
    check.extents({"y", y}, {ab.extent(1)}, "the number of columns of a");
  } else {
    check.extents({"x", x}, {ab.extent(1)}, "the number of columns of a");
  }
  check.type({"ab", ab}, classic_types);
  check.same_type({"x", x}, {"ab", ab}).same_type({"y", y}, {"ab", ab});
  check.factor("alpha", alpha, ab.type()).factor("beta", beta, ab.type());
  return check.apart({"y", y}, {"ab", ab}).apart({"y", y}, {"x", x}).verdict();
}

void sbmv::describe(field_visitor& f) { describe_product(f, *this); }
void hbmv::describe(field_visitor& f) { describe_product(f, *this); }
void tbmv::describe(field_visitor& f) { describe_triangular(f, *this); }
void tbsv::describe(field_visitor& f) { describe_triangular(f, *this); }
result<void> sbmv::validate() const { return check_product(*this, classic_types); }
result<void> hbmv::validate() const { return check_product(*this, complex_types); }
result<void> tbmv::validate() const { return check_triangular(ab, x); }
result<void> tbsv::validate() const { return check_triangular(ab, x); }

}  // namespace troupe::blas
