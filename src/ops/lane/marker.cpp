#include <troupe/ops/lane/marker.hpp>

namespace troupe::lane {

void marker::describe(field_visitor& fields) { fields.reads("after", after); }
result<void> marker::validate() const { return {}; }

}  // namespace troupe::lane
