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

/// True if the plan is for one of these graphs and stays within its operands.
[[nodiscard]] bool fits(const compiled_plan& plan, std::span<const graphs::description> graphs);

/// Loads the image, or the one of several whose plan is fastest on operands of zeros. It uses its
/// own stream and memory; the device may do other work meanwhile. A plan that does not run is never
/// the fastest. Waits for the result. \errors the reason why none can be loaded
[[nodiscard]] result<chosen_plan> fastest_of(cudnnHandle_t library, const graphs::description& what,
                                             std::vector<plan_image> images);

}  // namespace troupe::cuda
