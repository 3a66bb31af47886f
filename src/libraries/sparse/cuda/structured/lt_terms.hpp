#pragma once

#include "backend/lru_cache.hpp"
#include "libraries/blaslt/requests/geometry.hpp"
#include "libraries/sparse/cuda/limits.hpp"
#include "libraries/sparse/requests/structured_rules.hpp"

#include <cusparseLt.h>

#include <cstdint>

/// Converts a request to cuSPARSELt's terms. The sparse factor is on the left here: dᵀ = bᵀ · aᵀ.
/// This only swaps the orders.
namespace troupe::cuda {

[[nodiscard]] constexpr cudaDataType as_lt(dtype type) noexcept {
  switch (type) {
    case dtype::f16:
      return CUDA_R_16F;
    case dtype::bf16:
      return CUDA_R_16BF;
    case dtype::i8:
      return CUDA_R_8I;
    case dtype::e4m3:
      return CUDA_R_8F_E4M3;
    case dtype::f32:
      return CUDA_R_32F;
    default:
      return CUDA_R_32I;  // every other type is refused
  }
}

struct lt_matrix {
  dtype type{};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  blas::order order{};
  std::int64_t ld = 0;
  const std::byte* first = nullptr;

  lt_matrix() = default;
  lt_matrix(const any_tensor& t, blas::order preferred) noexcept
      : type(t.type()), rows(t.extent(0)), columns(t.extent(1)), first(t.address()) {
    const auto as = blas::layout_of(t, preferred);
    order = as.order;
    ld = as.ld;
  }

  [[nodiscard]] bool is_accepted(bool structured) const noexcept {
    return rows > 0 && columns > 0 &&
           limits::cusparse::accepts_structured({rows, columns, ld}, type, structured, first);
  }
};

/// Weights x [n, k].
[[nodiscard]] inline lt_matrix lt_weights(const any_tensor& x) noexcept {
  return {x, blas::order::row_major};
}

struct lt_product {
  lt_matrix weights, right, c, d;
  dtype bias_type{};  ///< d's if there is none
  const void* bias = nullptr;
  blaslt::epilogue epilogue{};

  explicit lt_product(const sparse::structured_matmul& r) noexcept
      : weights(lt_weights(r.b.transpose())),
        right(r.a.transpose(), blas::order::column_major),
        bias_type(r.bias.null() ? r.d.type() : r.bias.type()),
        bias(r.bias.null() ? nullptr : r.bias.address()),
        epilogue(r.epilogue) {
    const auto of_d = *blaslt::order_of_d(sparse::as_dense(r));
    d = lt_matrix(r.d.transpose(), blas::other(of_d));
    c = r.c.null() ? d : lt_matrix(r.c.transpose(), blas::other(of_d));
  }

  /// Other limits are checked when the product is described to the library.
  [[nodiscard]] bool is_accepted() const noexcept {
    // cuBLASLt allows a bias of another type here.
    const bool bias_fits = bias_type == d.type || weights.type == dtype::i8;
    return bias_fits && weights.is_accepted(true) && right.is_accepted(false) &&
           c.is_accepted(false) && d.is_accepted(false) &&
           reinterpret_cast<std::uintptr_t>(bias) % sparse::structured_alignment == 0;
  }

  /// Everything that selects a plan.
  using key = number_key<24>;
  [[nodiscard]] key plan_key() const noexcept {
    key all;
    for (const lt_matrix* one : {&weights, &right, &c, &d}) {
      all.add(static_cast<std::int64_t>(one->type));
      all.add(one->rows);
      all.add(one->columns);
      all.add(static_cast<std::int64_t>(one->order));
      all.add(one->ld);
    }
    all.add(static_cast<std::int64_t>(epilogue));
    return all;
  }
};

}  // namespace troupe::cuda
