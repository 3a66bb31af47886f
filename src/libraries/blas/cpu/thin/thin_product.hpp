#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

/// A product of few rows with a matrix whose columns are contiguous, as of a few tokens with the
/// weights [n, k] of a layer: sum[i · n + j] = Σ a[i · k + l] · b[j · step + l], in f32.
///
/// It takes as long as reading b once. A sum is formed by one thread, in an order that depends on k
/// alone: the same row gives the same bits beside any others.
struct thin_product {
  std::int64_t m, n, k;
  const float* a;
  dtype type;  ///< f32 or bf16, of b
  const std::byte* b;
  std::int64_t step;  ///< elements between two columns
  float* sum;
};

/// Whether `run` is faster than a product of OpenBLAS, whose kernels copy b first; `depth_step` is
/// the distance of two elements of a column.
[[nodiscard]] bool is_thin(std::int64_t m, std::int64_t n, std::int64_t k, dtype type,
                           std::int64_t depth_step) noexcept;

void run(const thin_product& p);

}  // namespace troupe::cpu
