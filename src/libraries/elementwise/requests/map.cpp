#include "libraries/elementwise/requests/rules.hpp"

#include <troupe/elementwise/map.hpp>

namespace troupe::elementwise {

void map::describe(description<map>& d) {
  d.about("Applies a function to each element: outputs = what(inputs), in one pass over memory.");
  d.reads("inputs", &map::inputs, {}, "what the function reads, broadcast to the outputs' shape");
  d.writes("outputs", &map::outputs, {}, "take what the function gives, all of one shape");
  d.derived(&map::outputs, &forms_of_outputs);
  d.group("what", &map::what);
  d.rule(
      "the function is valid for these tensors and has no row operations; inputs can be "
      "broadcast to the outputs' shape; an output is apart from or the same as each input",
      [](argument_checks& check, const map& r) { check_request(check, r); });
}

}  // namespace troupe::elementwise
