#pragma once

#include "libraries/blas/cuda/planner/lt_matrix.hpp"
#include "libraries/blaslt/requests/geometry.hpp"

#include <cstdint>
#include <utility>

namespace troupe::cuda {

/// A request as cuBLASLt takes it, which calls the left factor A and the right one B. Valid as long
/// as the request is.
struct sides {
  explicit sides(const blaslt::matmul& r) noexcept
      : request(r),
        product(blaslt::lay_out(r)),
        left(product.swapped ? r.b : r.a),
        right(product.swapped ? r.a : r.b),
        left_scale(product.swapped ? r.scale_b : r.scale_a),
        right_scale(product.swapped ? r.scale_a : r.scale_b),
        left_scaling(product.swapped ? r.scaling_b : r.scaling_a),
        right_scaling(product.swapped ? r.scaling_a : r.scaling_b),
        left_op(product.swapped ? r.op_b : r.op_a),
        right_op(product.swapped ? r.op_a : r.op_b),
        vector(blaslt::has_bias(r.epilogue) ? r.bias : r.bgrad) {}

  const blaslt::matmul& request;
  blaslt::column_major_product product;
  const any_tensor& left;
  const any_tensor& right;
  const any_tensor& left_scale;
  const any_tensor& right_scale;
  blaslt::scaling left_scaling;
  blaslt::scaling right_scaling;
  blas::op left_op;
  blas::op right_op;
  const any_tensor& vector;

  /// The matrices as they are stored. If the request has no c, c is its d.
  struct matrices {
    lt_matrix left, right, c, d;
  };
  [[nodiscard]] matrices stored() const noexcept {
    const auto of = [&](const any_tensor& t, const blaslt::stored_matrix& as, std::int64_t rows,
                        std::int64_t columns) {
      if (as.transposed) std::swap(rows, columns);
      return lt_matrix(t.address(), t.type(), rows, columns, as.ld,
                       product.batch > 1 ? as.distance : 0);
    };
    const lt_matrix d = of(request.d, product.d, product.m, product.n);
    return {of(left, product.left, product.m, product.k),
            of(right, product.right, product.k, product.n),
            request.c.null() ? d : of(request.c, product.c, product.m, product.n), d};
  }
};

}  // namespace troupe::cuda
