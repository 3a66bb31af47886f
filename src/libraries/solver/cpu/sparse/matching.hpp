#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::cpu {

/// Gives each column a row of its own in which it has an element, as far as possible, by augmenting
/// paths (Duff, "On algorithms for obtaining a maximum transversal", 1981). The matrix is in
/// compressed columns. Answers the row of each column, −1 for a column without one.
[[nodiscard]] std::vector<std::int64_t> match_rows(std::span<const std::int64_t> offsets,
                                                   std::span<const std::int64_t> rows,
                                                   std::int64_t row_count);

}  // namespace troupe::cpu
