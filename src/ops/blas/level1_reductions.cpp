#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level1_reductions.hpp>

namespace troupe::blas {
namespace {

/// The tensor that takes the answer, where one is given.
argument_checks& takes_answer(argument_checks& check, const any_tensor& answer, dtype type,
                              std::initializer_list<operand> read) {
  if (answer.null()) return check;
  check.one_element({"result", answer}).type({"result", answer}, {type});
  for (const operand& one : read)
    check.apart({"result", answer}, one);
  return check;
}

argument_checks& two_vectors(argument_checks& check, const any_tensor& x, const any_tensor& y,
                             std::initializer_list<dtype> types) {
  check.vector({"x", x}).vector({"y", y}).same_extents({"y", y}, {"x", x});
  return check.type({"x", x}, types).same_type({"y", y}, {"x", x});
}

troupe::result<void> check_dot(const any_tensor& x, const any_tensor& y, const any_tensor& answer,
                               std::initializer_list<dtype> types) {
  argument_checks check;
  two_vectors(check, x, y, types);
  return takes_answer(check, answer, x.type(), {{"x", x}, {"y", y}}).verdict();
}

troupe::result<void> check_norm(const any_tensor& x, const any_tensor& answer,
                                std::initializer_list<dtype> types) {
  argument_checks check;
  check.vector({"x", x}).type({"x", x}, types);
  return takes_answer(check, answer, real_of(x.type()), {{"x", x}}).verdict();
}

troupe::result<void> check_index(const any_tensor& x, const any_tensor& answer) {
  argument_checks check;
  check.vector({"x", x}).type({"x", x}, classic_types);
  return takes_answer(check, answer, dtype::i64, {{"x", x}}).verdict();
}

void describe_two(field_visitor& f, any_tensor& x, any_tensor& y, any_tensor& answer) {
  f.reads("x", x);
  f.reads("y", y);
  f.writes("result", answer);
}

void describe_one(field_visitor& f, any_tensor& x, any_tensor& answer) {
  f.reads("x", x);
  f.writes("result", answer);
}

}  // namespace

void dot::describe(field_visitor& f) { describe_two(f, x, y, result); }
void dsdot::describe(field_visitor& f) { describe_two(f, x, y, result); }
void sdsdot::describe(field_visitor& f) {
  f.value("alpha", alpha);
  describe_two(f, x, y, result);
}
void dotc::describe(field_visitor& f) { describe_two(f, x, y, result); }
void dotu::describe(field_visitor& f) { describe_two(f, x, y, result); }
void nrm2::describe(field_visitor& f) { describe_one(f, x, result); }
void asum::describe(field_visitor& f) { describe_one(f, x, result); }
void iamax::describe(field_visitor& f) { describe_one(f, x, result); }
void iamin::describe(field_visitor& f) { describe_one(f, x, result); }

troupe::result<void> dot::validate() const {
  return check_dot(x, y, result, {dtype::f32, dtype::f64, dtype::f16, dtype::bf16});
}
troupe::result<void> dsdot::validate() const {
  argument_checks check;
  two_vectors(check, x, y, {dtype::f32});
  return takes_answer(check, result, dtype::f64, {{"x", x}, {"y", y}}).verdict();
}
troupe::result<void> sdsdot::validate() const {
  argument_checks check;
  two_vectors(check, x, y, {dtype::f32}).factor("alpha", alpha, x.type());
  return takes_answer(check, result, dtype::f32, {{"x", x}, {"y", y}}).verdict();
}
troupe::result<void> dotc::validate() const { return check_dot(x, y, result, complex_types); }
troupe::result<void> dotu::validate() const { return check_dot(x, y, result, complex_types); }
troupe::result<void> nrm2::validate() const {
  return check_norm(x, result, classic_and_half_types);
}
troupe::result<void> asum::validate() const { return check_norm(x, result, classic_types); }
troupe::result<void> iamax::validate() const { return check_index(x, result); }
troupe::result<void> iamin::validate() const { return check_index(x, result); }

}  // namespace troupe::blas
