#pragma once

#include "libraries/dnn/cuda/plan/graph_description.hpp"
#include "libraries/dnn/cuda/plan/plan_image.hpp"

#include <troupe/base/result.hpp>

#include <cudnn.h>

#include <vector>

namespace troupe::cuda::graphs {

/// Has cuDNN make plans for a graph, best first: one, or as many as are to be timed. Takes from a
/// fraction of a second to seconds, and compiles; so on a thread of its own, with a handle of its
/// own. \errors `unsupported` with cuDNN's words where it has no engine; `out_of_memory`
[[nodiscard]] result<std::vector<plan_image>> build(cudnnHandle_t library, const description& what);

/// Of the frontend's that plans are made with: a part of what a plan is good for.
[[nodiscard]] int frontend_version() noexcept;

}  // namespace troupe::cuda::graphs
