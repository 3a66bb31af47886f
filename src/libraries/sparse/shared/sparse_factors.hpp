#pragma once

#include <troupe/sparse/matrix.hpp>

namespace troupe::sparse {

/// Two factors by their rows: a product of csc is the transposed product, with its factors
/// exchanged, and its columns are rows.
struct sparse_factors {
  const sparse_matrix& left;
  const sparse_matrix& right;

  template <class R>
  explicit sparse_factors(const R& r) noexcept
      : left(r.a.format == sparse_format::csc ? r.b : r.a),
        right(r.a.format == sparse_format::csc ? r.a : r.b) {}
};

}  // namespace troupe::sparse
