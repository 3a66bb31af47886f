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

/// Enqueues reads of what a product reads once for each element: its index, its value, and x there.
/// Writes nothing. No product with a vector of a matrix whose columns lie anywhere takes less time.
void read_elements(stream& on, const sparse_elements& e);

}  // namespace troupe::bench::raw
