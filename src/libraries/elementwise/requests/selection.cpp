#include "libraries/elementwise/requests/rules.hpp"

#include <troupe/elementwise/selection.hpp>

namespace troupe::elementwise {
namespace {

using enum dtype;

constexpr std::initializer_list<dtype> ordered_types = {f64, f32, f16, bf16, e4m3, e5m2, i8,
                                                        u8,  i16, u16, i32,  u32,  i64};
constexpr std::initializer_list<dtype> number_types = {f64, f32, f16, bf16, e4m3, e5m2, i8,
                                                       u8,  i16, u16, i32,  u32,  i64,  u64};
constexpr std::initializer_list<dtype> real_types = {f64, f32, f16, bf16, e4m3, e5m2, i8,     u8,
                                                     i16, u16, i32, u32,  i64,  u64,  boolean};

}  // namespace

void clamp::describe(description<clamp>& d) {
  const extent all = d.sizes("shape", 0);
  d.about("Limits elements to an interval: y = min(max(x, low), high).");
  d.reads("x", &clamp::x, {all}, "numbers");
  d.writes("y", &clamp::y, {all}, "result").may_be(&clamp::x);
  d.same_type({&clamp::x, &clamp::y}, ordered_types);
  d.value("low", &clamp::low, "least result");
  d.value("high", &clamp::high, "largest result");
  d.real({&clamp::low, &clamp::high});
}

void where::describe(description<where>& d) {
  d.about("Chooses between two tensors: y = a where condition is true, else b.");
  d.reads("condition", &where::condition, {}, "true for elements of a");
  d.reads("a", &where::a, {}, "elements where condition is true");
  d.reads("b", &where::b, {}, "elements where it is false");
  d.writes("y", &where::y, {}, "result; the others are broadcast to its shape")
      .may_be(&where::a)
      .may_be(&where::b);
  type_rows types({});
  for (const dtype type : real_types)
    types.rows.push_back({boolean, type, type, type});
  d.types({&where::condition, &where::a, &where::b, &where::y}, types);
  d.rule("condition, a and b can be broadcast to y's shape",
         [](argument_checks& check, const where& r) {
           check_broadcast(check, {"condition", r.condition}, {"y", r.y});
           check_broadcast(check, {"a", r.a}, {"y", r.y});
           check_broadcast(check, {"b", r.b}, {"y", r.y});
         });
}

void compare::describe(description<compare>& d) {
  d.about("Compares two tensors element by element.");
  d.reads("a", &compare::a, {}, "left operand");
  d.reads("b", &compare::b, {}, "right operand");
  d.writes("y", &compare::y, {}, "result; the operands are broadcast to its shape");
  type_rows types({});
  for (const dtype type : real_types)
    types.rows.push_back({type, type, boolean});
  d.types({&compare::a, &compare::b, &compare::y}, types);
  d.value("how", &compare::how, "the relation");
  d.rule("a and b can be broadcast to y's shape", [](argument_checks& check, const compare& r) {
    check_broadcast(check, {"a", r.a}, {"y", r.y});
    check_broadcast(check, {"b", r.b}, {"y", r.y});
  });
}

void one_hot::describe(description<one_hot>& d) {
  const extent all = d.sizes("shape", 0, max_rank - 1);
  const extent classes = d.size("classes");
  d.about("Writes one number at each index and another one elsewhere.");
  d.reads("indices", &one_hot::indices, {all}, "indices along the last dimension of y");
  d.writes("y", &one_hot::y, {all, classes}, "result");
  type_rows types({});
  for (const dtype type : real_types) {
    types.rows.push_back({i32, type});
    types.rows.push_back({i64, type});
  }
  d.types({&one_hot::indices, &one_hot::y}, types);
  d.value("on", &one_hot::on, "the number at the index");
  d.value("off", &one_hot::off, "the number elsewhere");
  d.real({&one_hot::on, &one_hot::off});
}

void arange::describe(description<arange>& d) {
  const extent n = d.size("n");
  d.about("Writes an arithmetic progression: y[i] = start + i · step.");
  d.writes("y", &arange::y, {n}, "result");
  d.same_type({&arange::y}, number_types);
  d.value("start", &arange::start, "the first element");
  d.value("step", &arange::step, "difference of neighbours");
  d.real({&arange::start, &arange::step});
}

}  // namespace troupe::elementwise
