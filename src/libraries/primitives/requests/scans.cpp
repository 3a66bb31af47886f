#include "libraries/primitives/requests/rules.hpp"

#include <troupe/primitives/scans.hpp>

namespace troupe::primitives {

void scan::describe(description<scan>& d) {
  const extent all = d.sizes("shape", 1);
  d.about(
      "Combines all elements up to each one along an axis: prefix sums, products, running minima "
      "or maxima.");
  d.reads("x", &scan::x, {all}, "elements");
  d.updates("y", &scan::y, {all}, "takes the combination of all elements up to each one")
      .updated_where(d.same_view(&scan::y, &scan::x))
      .may_be(&scan::x);
  d.value("op", &scan::op, "how two numbers become one");
  d.value("exclusive", &scan::exclusive, "leave the element itself out");
  d.value("deterministic", &scan::deterministic, "the same bits on every run");
  d.value("axis", &scan::axis, "the axis to go along; a negative one counts from the last");
  d.types({&scan::x, &scan::y}, combined_types());
  d.rule("y can hold what op gives", [](argument_checks& check, const scan& r) {
    holds_combination(check, r.x, "y", r.y, r.op);
  });
  d.rule("the axis exists",
         [](argument_checks& check, const scan& r) { axis_exists(check, r.axis, r.x.rank()); });
}

}  // namespace troupe::primitives
