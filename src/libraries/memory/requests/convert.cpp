#include <troupe/memory/convert.hpp>
#include <troupe/request/argument_checks.hpp>

namespace troupe::memory {

void convert::describe(description<convert>& d) {
  const extent any = d.sizes("shape", 0);
  d.about("Copies elements into another element type: to[i] = type_of_to(from[i]).");
  d.reads("from", &convert::from, {any}, "source");
  d.updates("to", &convert::to, {any}, "destination")
      .updated_where(d.same_view(&convert::to, &convert::from))
      .may_be(&convert::from);
}

}  // namespace troupe::memory
