#include "libraries/elementwise/requests/rules.hpp"

#include <troupe/elementwise/rows.hpp>

namespace troupe::elementwise {

void rows::describe(description<rows>& d) {
  d.about("Applies a function with row operations to each row: softmax, norms, reductions.");
  d.reads("inputs", &rows::inputs, {}, "what the function reads, broadcast together");
  d.writes("outputs", &rows::outputs, {}, "whole, or with one element for each row");
  d.derived(&rows::outputs, &forms_of_outputs);
  d.group("what", &rows::what);
  d.value("axes", &rows::axes, "dimensions that make a row; negative ones count from the last");
  d.rule(
      "the function is valid for these tensors; they can be broadcast together; an output is "
      "apart from or the same as each input; an output of one element for a row takes such a value",
      [](argument_checks& check, const rows& r) { check_request(check, r); });
}

}  // namespace troupe::elementwise
