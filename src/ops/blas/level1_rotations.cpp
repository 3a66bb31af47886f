#include "ops/blas/rules.hpp"

#include <troupe/ops/blas/level1_rotations.hpp>

namespace troupe::blas {
namespace {

argument_checks& two_vectors(argument_checks& check, const operand& x, const operand& y) {
  check.vector(x).vector(y).written(x).written(y).same_extents(y, x);
  return check.same_type(y, x).apart(y, x);
}

}  // namespace

void rot::describe(field_visitor& f) {
  f.updates("x", x);
  f.updates("y", y);
  f.value("c", c);
  f.value("s", s);
  f.reads("c_at", c_at);
  f.reads("s_at", s_at);
}

result<void> rot::validate() const {
  argument_checks check;
  check.vector({"x", x}).type({"x", x}, classic_types);
  two_vectors(check, {"x", x}, {"y", y});
  check.rule(c_at.null() == s_at.null(), errc::invalid_argument, [&] {
    return std::string(c_at.null() ? "s_at is given without c_at" : "c_at is given without s_at");
  });
  if (c_at.null() || s_at.null()) {
    return check.real_factor("c", c).factor("s", s, x.type()).verdict();
  }
  check.one_element({"c_at", c_at}).one_element({"s_at", s_at});
  check.type({"c_at", c_at}, {real_of(x.type())}).same_type({"s_at", s_at}, {"x", x});
  for (const operand written : {operand{"x", x}, operand{"y", y}})
    check.apart(written, {"c_at", c_at}).apart(written, {"s_at", s_at});
  return check.verdict();
}

void rotg::describe(field_visitor& f) {
  f.updates("a", a);
  f.updates("b", b);
  f.writes("c", c);
  f.writes("s", s);
}

result<void> rotg::validate() const {
  argument_checks check;
  const operand all[] = {{"a", a}, {"b", b}, {"c", c}, {"s", s}};
  for (const operand& one : all)
    check.one_element(one);
  check.type({"a", a}, classic_types).same_type({"b", b}, {"a", a}).same_type({"s", s}, {"a", a});
  check.type({"c", c}, {real_of(a.type())});
  for (const operand* one = all; one != std::end(all); ++one) {
    for (const operand* before = all; before != one; ++before)
      check.apart(*one, *before);
  }
  return check.verdict();
}

void rotm::describe(field_visitor& f) {
  f.updates("x", x);
  f.updates("y", y);
  f.reads("param", param);
}

result<void> rotm::validate() const {
  argument_checks check;
  check.vector({"x", x}).type({"x", x}, real_types);
  two_vectors(check, {"x", x}, {"y", y});
  check.packed_vector({"param", param}).extents({"param", param}, {5}, "a modified rotation");
  check.same_type({"param", param}, {"x", x});
  return check.apart({"x", x}, {"param", param}).apart({"y", y}, {"param", param}).verdict();
}

void rotmg::describe(field_visitor& f) {
  f.updates("d1", d1);
  f.updates("d2", d2);
  f.updates("x1", x1);
  f.reads("y1", y1);
  f.updates("param", param);
}

result<void> rotmg::validate() const {
  argument_checks check;
  const operand all[] = {{"d1", d1}, {"d2", d2}, {"x1", x1}, {"y1", y1}, {"param", param}};
  for (const operand& one : all) {
    if (&one != all + 4) check.one_element(one);
  }
  check.packed_vector(all[4]).extents(all[4], {5}, "a modified rotation");
  check.type(all[0], real_types);
  for (const operand* one = all; one != std::end(all); ++one) {
    check.same_type(*one, all[0]);
    for (const operand* before = all; before != one; ++before)
      check.apart(*one, *before);
  }
  return check.verdict();
}

}  // namespace troupe::blas
