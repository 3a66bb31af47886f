#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/rng/shared/normal_table.hpp"

#include <troupe/base/result.hpp>

namespace troupe::cuda {

/// The table of `rng::normal_quantile` in device memory, ready for work that is enqueued on the
/// lane from here on. The lane keeps it. \errors `out_of_memory`; those of `check`
[[nodiscard]] result<const rng::normal_segment*> normal_table_on(lane& where);

}  // namespace troupe::cuda
