#include "ops/jit/launch_rules.hpp"

#include <troupe/ops/jit/launch.hpp>

namespace troupe::jit {

void launch::describe(field_visitor& fields) {
  kernel.describe(fields);
  describe_dims(fields, grid_names, grid);
  describe_dims(fields, block_names, block);
  fields.value("shared_bytes", shared_bytes);
  describe_dims(fields, cluster_names, cluster);
  fields.value("cooperative", cooperative);
  fields.value("programmatic", programmatic);
  arguments.describe(fields);
}

result<void> launch::validate() const {
  if (auto valid = kernel.validate(); !valid) return valid;
  if (auto valid = arguments.validate(); !valid) return valid;
  argument_checks check;
  check_shape(check, {.block = block, .shared_bytes = shared_bytes, .cluster = cluster});
  check.rule(grid.positive() && grid.x <= most_blocks_x && grid.y <= most_blocks_yz &&
                 grid.z <= most_blocks_yz,
             errc::invalid_argument, [&] {
               return fmt::format("grid is {}, it must be 1 to {} x {} x {}", text(grid),
                                  most_blocks_x, most_blocks_yz, most_blocks_yz);
             });
  check.rule(!check.good() ||
                 (grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0),
             errc::invalid_argument, [&] {
               return fmt::format("grid {} is no multiple of cluster {}", text(grid),
                                  text(cluster));
             });
  check.rule(!(cooperative && programmatic), errc::invalid_argument, [] {
    return std::string(
        "a cooperative launch waits for the kernel before it: it cannot be "
        "programmatic");
  });
  if (auto verdict = check.verdict(); !verdict) return verdict;
  return kernel.check(arguments);
}

}  // namespace troupe::jit
