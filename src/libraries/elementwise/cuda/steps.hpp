#pragma once

#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/elementwise/cuda/elementwise.hpp"
#include "libraries/elementwise/shared/steps.hpp"

namespace troupe::cuda {

/// Enqueues a named operation as a sequence of maps and rows.
template <class R>
[[nodiscard]] result<void> run_steps(const R& r, lane& where) {
  for (const elementwise::step& one : elementwise::steps_of(r)) {
    TRY(std::visit([&](const auto& what) { return run_elementwise(what, where); }, one));
  }
  return {};
}

/// Adds the executors of named operations.
template <class... R>
void add_steps(operation_table& table) {
  (add<R>(table, run_steps<R>), ...);
}

}  // namespace troupe::cuda
