#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/rows.hpp>

namespace troupe::cuda {

/// Enqueues a valid request on its lane's stream.
[[nodiscard]] result<void> run_elementwise(const elementwise::map& r, lane& where);
[[nodiscard]] result<void> run_elementwise(const elementwise::rows& r, lane& where);

}  // namespace troupe::cuda
