#pragma once

#include "raw.hpp"

#include <cstdint>

namespace troupe::bench::raw {

/// Elements of a sparse matrix with i32 indices, and the vector that it is multiplied with.
struct sparse_elements {
  const void* columns;
  const void* values;
  const void* x;
  std::int64_t count;
  bool is_f64;
};

/// Enqueues the reads of a matrix-vector product, once for each element: index, value, and x at the
/// index. Writes nothing. A lower bound on the time of such a product with columns in any order.
void read_elements(stream& on, const sparse_elements& e);

}  // namespace troupe::bench::raw
