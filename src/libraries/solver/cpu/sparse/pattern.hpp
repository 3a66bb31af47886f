#pragma once

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <vector>

namespace troupe::cpu {

/// Where the elements of a sparse matrix are.
struct sparse_pattern {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> places;  ///< the column of each element

  bool operator==(const sparse_pattern&) const = default;
};

/// Reads a pattern. \errors `invalid_argument` for one that is none: Eigen would follow it out of
/// its memory.
[[nodiscard]] result<sparse_pattern> read_pattern(const any_tensor& offsets,
                                                  const any_tensor& columns, std::int64_t m,
                                                  std::int64_t n);

}  // namespace troupe::cpu
