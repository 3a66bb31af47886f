#pragma once

// region: request
#include <troupe/plugin.hpp>

namespace worked_example {

/// Sums up as it goes: y[i] = x[0] + … + x[i]. Answers the last, which is the sum of all.
///
/// Reads x, writes y. Type: f32, added in f64; any layout of rank 1.
struct running_sum {
  static constexpr std::string_view name = "signal.running_sum";
  using reply = double;

  troupe::any_tensor x{};
  troupe::any_tensor y{};

  static void describe(troupe::description<running_sum>& d);
};

/// Lists the executors, which a worker calls. Pass it to `worker_entry` and `own_operations`.
void add_operations(troupe::operation_table& operations);

}  // namespace worked_example
// endregion: request
