#include "libraries/primitives/requests/rules.hpp"

namespace troupe::primitives {
namespace {

template <class R>
void describe_search(description<R>& d) {
  const extent n = d.size("n");
  d.reads("x", &R::x, {n}, "vector");
  d.writes("result", &R::result, {1}, "takes the index instead of the reply").optional();
  d.layouts(layout::vector, {&R::x});
  d.same_type({&R::x}, ordered_types);
  d.same_type({&R::result}, {dtype::i64});
}

}  // namespace

void reduce::describe(description<reduce>& d) {
  const extent n = d.size("n");
  d.about("Combines all elements of a vector: sum, product, minimum or maximum.");
  d.reads("x", &reduce::x, {n}, "vector");
  d.writes("result", &reduce::result, {1}, "takes the answer instead of the reply").optional();
  d.value("op", &reduce::op, "how two numbers become one");
  d.layouts(layout::vector, {&reduce::x});
  d.types({&reduce::x, &reduce::result}, combined_types());
  d.rule("result can hold what op gives", [](argument_checks& check, const reduce& r) {
    holds_combination(check, r.x, "result", r.result, r.op);
  });
}

void argmin::describe(description<argmin>& d) {
  d.about("The index of the smallest element, from 0; a NaN is smaller than any number.");
  describe_search(d);
}

void argmax::describe(description<argmax>& d) {
  d.about("The index of the largest element, from 0; a NaN is larger than any number.");
  describe_search(d);
}

void segmented_reduce::describe(description<segmented_reduce>& d) {
  const extent n = d.size("n"), segments = d.size("segments");
  d.about("Combines each segment of a vector: sums, products, minima or maxima.");
  d.reads("x", &segmented_reduce::x, {n}, "vector");
  d.reads("offsets", &segmented_reduce::offsets, {segments + 1},
          "where segments begin, ascending; the last is the end of the last segment");
  d.writes("y", &segmented_reduce::y, {segments}, "takes one number for each segment");
  d.value("op", &segmented_reduce::op, "how two numbers become one");
  d.layouts(layout::vector,
            {&segmented_reduce::x, &segmented_reduce::offsets, &segmented_reduce::y});
  d.types({&segmented_reduce::x, &segmented_reduce::y}, combined_types());
  d.same_type({&segmented_reduce::offsets}, {dtype::i64});
  d.rule("y can hold what op gives", [](argument_checks& check, const segmented_reduce& r) {
    holds_combination(check, r.x, "y", r.y, r.op);
  });
}

}  // namespace troupe::primitives
