#pragma once

#include "libraries/dnn/cuda/attention/attention_case.hpp"

namespace troupe::cuda::tiles {

/// Enqueues a case that is `by_tiles`.
[[nodiscard]] result<void> run(const attention_case& what, lane& where);

}  // namespace troupe::cuda::tiles
