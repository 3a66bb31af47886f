#pragma once

#include "gpu/faults/fault_cases.hpp"

#include <vector>

namespace troupe::chaos {

/// Failures beyond the faults of requests and of signals: workers that break the protocol, that
/// start badly, and that die while another is being replaced. On any backend whose device can run
/// the program's own operations; a GPU's would have to be kernels.
[[nodiscard]] const std::vector<gpu_test::fault_case>& hostile_cases();

}  // namespace troupe::chaos
