#include <troupe/ops/lane/marker.hpp>

namespace troupe::lane {

void marker::describe(field_visitor&) {}
result<void> marker::validate() const { return {}; }

}  // namespace troupe::lane
