#pragma once

#include "libraries/elementwise/cpu/elementwise.hpp"
#include "libraries/elementwise/shared/steps.hpp"

namespace troupe::cpu {

/// Runs a named operation as the maps and rows that it is made of.
template <class R>
[[nodiscard]] result<void> run_steps(const R& r, lane_context& where) {
  for (const elementwise::step& one : elementwise::steps_of(r)) {
    auto done = std::visit([&](const auto& what) { return run_elementwise(what, where); }, one);
    if (!done) return done;
  }
  return {};
}

/// Adds the executors of named operations.
template <class... R>
void add_steps(operation_table& table) {
  (table.add<R>(run_steps<R>, effort::by_size), ...);
}

}  // namespace troupe::cpu
