#include <troupe/ops/lane/launch.hpp>

namespace troupe::lane {

void launch::describe(field_visitor& /*fields*/) {}
result<void> launch::validate() const { return {}; }

}  // namespace troupe::lane
