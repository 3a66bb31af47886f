#pragma once

#include <troupe/worker/executor.hpp>

namespace troupe::worker {

/// The operations that every worker brings, whatever its backend: `lane.marker`, and those of
/// library `fault` where the device allows them.
void add_built_in(operation_table& operations, bool fault_injection);

}  // namespace troupe::worker
