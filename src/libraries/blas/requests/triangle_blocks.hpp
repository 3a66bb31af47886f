#pragma once

#include <troupe/base/result.hpp>
#include <troupe/blas/modes.hpp>
#include <troupe/tensor/tensor.hpp>

#include <algorithm>
#include <cstdint>

/// How the backends divide a product of which one triangle counts: those blocks that lie wholly in
/// the triangle are products like any other, and on the diagonal lie squares of which one half is
/// taken.
namespace troupe::blas {

/// Some rows of a and columns of b, and the block of c that their product is for.
struct product_block {
  any_tensor a;
  any_tensor b;
  any_tensor c;
};

/// Calls `whole` and `on_diagonal` with each block of a request `r` that has a, b, c and uplo. At
/// most `side` columns of c at a time. \errors the first of either
template <class Request, class Whole, class OnDiagonal>
[[nodiscard]] result<void> for_each_triangle_block(const Request& r, std::int64_t side, Whole whole,
                                                   OnDiagonal on_diagonal) {
  const std::int64_t n = r.c.extent(0);
  for (std::int64_t begin = 0; begin < n; begin += side) {
    const std::int64_t end = std::min(begin + side, n);
    // Within the extents of validated views.
    const auto block = [&](std::int64_t first_row, std::int64_t last_row) -> product_block {
      return {r.a.slice(0, first_row, last_row).value(), r.b.slice(1, begin, end).value(),
              r.c.slice(0, first_row, last_row).value().slice(1, begin, end).value()};
    };
    const bool upper = r.uplo == uplo::upper;
    const product_block beside = upper ? block(0, begin) : block(end, n);
    if (!beside.c.empty()) {
      if (auto done = whole(beside); !done) return done;
    }
    if (auto done = on_diagonal(block(begin, end)); !done) return done;
  }
  return {};
}

}  // namespace troupe::blas
