#pragma once

#include "libraries/dnn/cuda/plan/compiled_plan.hpp"
#include "libraries/dnn/cuda/plan/graph_description.hpp"

#include <troupe/base/result.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace troupe::cuda {

/// A plan and the bytes of its image.
struct chosen_plan {
  std::unique_ptr<compiled_plan> plan;
  std::vector<std::byte> bytes;
};

/// True where the plan is one of these graphs, and leaves none of its operands.
[[nodiscard]] bool fits(const compiled_plan& plan, std::span<const graphs::description> graphs);

/// Loads the image, or of several the one whose plan is fastest on operands of zeros, in a stream
/// and memory of its own; beside whatever else the device does meanwhile. One that does not run is
/// not the fastest. Waits.
/// \errors why none can be loaded
[[nodiscard]] result<chosen_plan> fastest_of(cudnnHandle_t library, const graphs::description& what,
                                             std::vector<plan_image> images);

}  // namespace troupe::cuda
