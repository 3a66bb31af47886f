#pragma once

#include "libraries/blas/openblas/openblas.hpp"

#include <troupe/plugin/executor.hpp>

namespace troupe::cpu {

/// One matrix product, c = alpha · op_a(a) · op_b(b) + beta · c, in the last two dimensions of its
/// views, for gemm and every batched gemm.
struct product {
  const any_tensor& a;
  const any_tensor& b;
  const any_tensor& c;
  const scalar& alpha;
  const scalar& beta;
  blas::op op_a;
  blas::op op_b;
};

/// Runs `p` for any types that validation lets through; a, b and c begin at these addresses.
[[nodiscard]] result<void> multiply(const product& p, const std::byte* a, const std::byte* b,
                                    std::byte* c, lane_context& lane);

/// The types that OpenBLAS has no product for: f16 and bf16 through f32, i8 through exact f32.
[[nodiscard]] result<void> multiply_half(const product& p, const std::byte* a, const std::byte* b,
                                         std::byte* c, lane_context& lane);
[[nodiscard]] result<void> multiply_i8(const product& p, const std::byte* a, const std::byte* b,
                                       std::byte* c, lane_context& lane);

}  // namespace troupe::cpu
