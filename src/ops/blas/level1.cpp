#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level1.hpp>

namespace troupe::blas {

void axpy::describe(field_visitor& f) {
  f.reads("x", x);
  f.value("alpha", alpha);
  f.updates("y", y);
}

result<void> axpy::validate() const {
  argument_checks check;
  check.vector({"x", x}).vector({"y", y}).written({"y", y}).same_extents({"y", y}, {"x", x});
  check.type({"x", x}, classic_and_half_types).same_type({"y", y}, {"x", x});
  return check.factor("alpha", alpha, x.type()).apart({"y", y}, {"x", x}).verdict();
}

void scal::describe(field_visitor& f) {
  f.value("alpha", alpha);
  f.updates("x", x);
}

result<void> scal::validate() const {
  argument_checks check;
  check.vector({"x", x}).written({"x", x}).type({"x", x}, classic_and_half_types);
  return check.factor("alpha", alpha, x.type()).verdict();
}

void copy::describe(field_visitor& f) {
  f.reads("x", x);
  f.writes("y", y);
  f.value("reversed", reversed);
}

result<void> copy::validate() const {
  argument_checks check;
  check.vector({"x", x}).vector({"y", y}).written({"y", y}).same_extents({"y", y}, {"x", x});
  check.type({"x", x}, classic_types).same_type({"y", y}, {"x", x});
  return check.apart({"y", y}, {"x", x}).verdict();
}

void swap::describe(field_visitor& f) {
  f.updates("x", x);
  f.updates("y", y);
}

result<void> swap::validate() const {
  argument_checks check;
  check.vector({"x", x}).vector({"y", y}).written({"x", x}).written({"y", y});
  check.same_extents({"y", y}, {"x", x});
  check.type({"x", x}, classic_types).same_type({"y", y}, {"x", x});
  return check.apart({"y", y}, {"x", x}).verdict();
}

}  // namespace troupe::blas
