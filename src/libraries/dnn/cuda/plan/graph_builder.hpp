#pragma once

#include "libraries/dnn/cuda/plan/graph_description.hpp"
#include "libraries/dnn/cuda/plan/plan_image.hpp"

#include <troupe/base/result.hpp>

#include <cudnn.h>

#include <vector>

namespace troupe::cuda::graphs {

/// Lets cuDNN make plans for a graph, best first: one, or as many as are to be timed. It compiles,
/// for a fraction of a second up to seconds, so call it on a separate thread with its own handle.
/// \errors `unsupported` with cuDNN's message if it has no engine; `out_of_memory`
[[nodiscard]] result<std::vector<plan_image>> build(cudnnHandle_t library, const description& what);

/// The version of the frontend that makes plans. A plan is valid for this version only.
[[nodiscard]] int frontend_version() noexcept;

}  // namespace troupe::cuda::graphs
