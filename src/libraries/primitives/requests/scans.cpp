#include "libraries/primitives/requests/rules.hpp"

#include <troupe/primitives/scans.hpp>

namespace troupe::primitives {

void scan::describe(description<scan>& d) {
  const extent n = d.size("n");
  d.about("Combines all elements up to each one: prefix sums, products, minima or maxima.");
  d.reads("x", &scan::x, {n}, "vector");
  d.updates("y", &scan::y, {n}, "takes the combination of all elements up to each one")
      .updated_where(d.same_view(&scan::y, &scan::x))
      .may_be(&scan::x);
  d.value("op", &scan::op, "how two numbers become one");
  d.value("exclusive", &scan::exclusive, "leave the element itself out");
  d.value("deterministic", &scan::deterministic, "the same bits on every run");
  d.layouts(layout::vector, {&scan::x, &scan::y});
  d.types({&scan::x, &scan::y}, combined_types());
  d.rule("y can hold what op gives", [](argument_checks& check, const scan& r) {
    holds_combination(check, r.x, "y", r.y, r.op);
  });
}

}  // namespace troupe::primitives
