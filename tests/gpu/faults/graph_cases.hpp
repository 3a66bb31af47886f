#pragma once

#include "fault_cases.hpp"

#include <troupe/device/graph_recorder.hpp>

#include <span>

namespace troupe::gpu_test {

/// A request of a library with one operand, as one of a graph.
struct graph_request {
  std::string_view name;
  dtype type;  ///< the operand's
  void (*add)(graph_recorder& rec, const any_tensor& operand);
};

/// Faults of requests that a GPU has recorded: the worker loses an operand after the second run.
[[nodiscard]] std::span<const fault_case> cases_in_graphs();

}  // namespace troupe::gpu_test
