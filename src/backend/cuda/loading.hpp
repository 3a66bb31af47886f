#pragma once

#include <troupe/core/result.hpp>

namespace troupe::cuda {

/// Loads the kernels of this plugin into the current context, ahead of their first use: one that is
/// loaded only then may have to wait until those that run have ended.
[[nodiscard]] result<void> load_kernels();

}  // namespace troupe::cuda
