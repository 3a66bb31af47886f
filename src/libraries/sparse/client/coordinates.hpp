#pragma once

#include <troupe/sparse/matrix_market.hpp>

namespace troupe::sparse {

/// \errors `invalid_argument` for lists of different lengths and indices outside
[[nodiscard]] result<void> check(const coordinates& a);

}  // namespace troupe::sparse
