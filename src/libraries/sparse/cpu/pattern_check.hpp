#pragma once

#include "libraries/sparse/shared/pattern_faults.hpp"

#include <troupe/base/result.hpp>

namespace troupe::cpu {

/// \errors `invalid_argument` for the first fault of the pattern, with its place
[[nodiscard]] result<void> check_pattern(const sparse_matrix& a, sparse::pattern_claim claim);

}  // namespace troupe::cpu
