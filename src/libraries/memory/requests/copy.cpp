#include <troupe/memory/copy.hpp>
#include <troupe/request/argument_checks.hpp>

namespace troupe::memory {
namespace {

type_rows same_type_of_any() {
  type_rows made({});
  for (int i = 0; i < dtype_count; ++i)
    made.rows.emplace_back(2, static_cast<dtype>(i));
  return made;
}

}  // namespace

void copy::describe(description<copy>& d) {
  const extent any = d.sizes("shape", 0);
  d.about("Copies elements: to = from.");
  d.reads("from", &copy::from, {any}, "source");
  // A copy of a view to itself leaves the content as it is: no overwrite.
  d.updates("to", &copy::to, {any}, "destination")
      .updated_where(d.same_view(&copy::to, &copy::from))
      .may_be(&copy::from);
  d.types({&copy::from, &copy::to}, same_type_of_any());
}

}  // namespace troupe::memory
