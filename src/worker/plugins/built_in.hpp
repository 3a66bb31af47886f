#pragma once

#include <troupe/plugin/executor.hpp>

namespace troupe::worker {

/// The operations that every worker brings, whatever its backend: `lane.marker`, `lane.launch`
/// (which a backend that has something to launch replaces), and those of library `fault` where the
/// device allows them.
void add_built_in(operation_table& operations, bool fault_injection);

}  // namespace troupe::worker
