#pragma once

#include <troupe/plugin/executor.hpp>

namespace troupe::worker {

/// The operations of every worker, whatever its backend: `lane.marker`, `lane.launch` (which a
/// backend that can launch something replaces), and those of library `fault` if the device allows
/// them.
void add_built_in(operation_table& operations, bool fault_injection);

}  // namespace troupe::worker
