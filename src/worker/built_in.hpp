#pragma once

#include <troupe/worker/executor.hpp>

namespace troupe::worker {

/// The operations that every worker brings, whatever its backend: `lane.marker`; `lane.launch`
/// unless the backend, listed before, has something to launch; and `fault.inject` where the device
/// allows it.
void add_built_in(operation_table& operations, bool fault_injection);

}  // namespace troupe::worker
