#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/primitives/shared/tensor_rows.hpp"

#include <troupe/base/result.hpp>

/// The first elements of each row, in the order of a sort. A sort wants all of them.
namespace troupe::cuda {

struct row_search {
  primitives::tensor_rows x;
  primitives::tensor_rows found;    ///< as many of each row as its rows are long; may be x
  primitives::tensor_rows indices;  ///< within their rows; may be absent
  bool descending = false;
};

/// True if a block has room for what it finds, so that it reads each row once.
[[nodiscard]] bool fits_blocks(const row_search& r) noexcept;
/// Enqueues one block a row; or, for few long rows, several, and another one to merge what they
/// find. Precondition: `fits_blocks(r)`.
[[nodiscard]] result<void> enqueue_by_blocks(const row_search& r, lane& where);

/// Enqueues a sort of all rows together. Rows have fewer than 2^31 elements.
[[nodiscard]] result<void> enqueue_by_sort(const row_search& r, lane& where);

}  // namespace troupe::cuda
