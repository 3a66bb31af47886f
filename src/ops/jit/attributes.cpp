#include "ops/jit/launch_rules.hpp"

#include <troupe/ops/jit/attributes.hpp>

namespace troupe::jit {

void attributes::describe(field_visitor& fields) { kernel.describe(fields); }

result<void> attributes::validate() const { return kernel.validate(); }

void occupancy::describe(field_visitor& fields) {
  kernel.describe(fields);
  describe_dims(fields, block_names, block);
  fields.value("shared_bytes", shared_bytes);
  describe_dims(fields, cluster_names, cluster);
}

result<void> occupancy::validate() const {
  if (auto valid = kernel.validate(); !valid) return valid;
  argument_checks check;
  check_shape(check, {.block = block, .shared_bytes = shared_bytes, .cluster = cluster});
  return check.verdict();
}

}  // namespace troupe::jit
