#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::cpu {

/// Gives each column a row of its own in which it has an element, as far as there are such: by
/// augmenting paths (Duff, "On algorithms for obtaining a maximum transversal", 1981). The matrix
/// is in compressed columns. Answers the row of each column, −1 where there is none.
[[nodiscard]] std::vector<std::int64_t> match_rows(std::span<const std::int64_t> offsets,
                                                   std::span<const std::int64_t> rows,
                                                   std::int64_t row_count);

}  // namespace troupe::cpu
