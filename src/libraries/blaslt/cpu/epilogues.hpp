#pragma once

#include "libraries/blaslt/cpu/elements.hpp"
#include "libraries/blaslt/requests/geometry.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

namespace troupe::cpu {

/// x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))). Source: cuBLAS documentation, cublasLtEpilogue_t.
template <class Real>
[[nodiscard]] Real gelu(Real x) noexcept {
  constexpr Real c = std::numbers::sqrt2_v<Real> * std::numbers::inv_sqrtpi_v<Real>;
  const Real t = std::tanh(c * (x + static_cast<Real>(0.044715) * x * x * x));
  return Real{0.5} * x * (1 + t);
}
/// Its derivative.
template <class Real>
[[nodiscard]] Real gelu_slope(Real x) noexcept {
  constexpr Real c = std::numbers::sqrt2_v<Real> * std::numbers::inv_sqrtpi_v<Real>;
  constexpr auto cubic = static_cast<Real>(0.044715);
  const Real t = std::tanh(c * (x + cubic * x * x * x));
  return Real{0.5} * (1 + t) + Real{0.5} * x * (1 - t * t) * c * (1 + 3 * cubic * x * x);
}

/// Relu's bits, along d's contiguous dimension. Source: cuBLAS documentation,
/// CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER.
class mask_bits {
 public:
  mask_bits(const any_tensor& aux, std::int64_t product, bool row_major) noexcept
      : as_(aux, product), row_major_(row_major) {}

  [[nodiscard]] bool get(std::int64_t i, std::int64_t j) const noexcept {
    return (byte(i, j) >> bit(i, j) & std::byte{1}) != std::byte{};
  }
  /// Bits of a byte are set one after another, from 0 on, which clears those that come after.
  void set(std::int64_t i, std::int64_t j, bool positive) const noexcept {
    std::byte& place = byte(i, j);
    const auto before = place & ~(std::byte{0xFF} << bit(i, j));
    place = before | std::byte{positive} << bit(i, j);
  }

 private:
  [[nodiscard]] int bit(std::int64_t i, std::int64_t j) const noexcept {
    return static_cast<int>((row_major_ ? j : i) % 8);
  }
  [[nodiscard]] std::byte& byte(std::int64_t i, std::int64_t j) const noexcept {
    return as_.first[row_major_ ? as_.index(i, j / 8) : as_.index(i / 8, j)];
  }

  matrix_place as_;
  bool row_major_;
};

/// Turns the sums of one product of a batch into its result.
template <class Real>
struct finished_product {
  const blaslt::matmul& r;
  std::int64_t product;
  Real alpha;  ///< with the scales of a and b
  Real beta;   ///< with the scale of c
  Real scale_d;
  Real amax_d = 0;

  /// `value(i, j)` is an element of op_a(a) · op_b(b); `row_sums` one number for each column where
  /// the epilogue has a gradient of the bias.
  template <class Value>
  void store(Value value, std::span<double> row_sums) {
    const int rows = r.d.rank() - 2;
    const bool row_major = blaslt::lay_out(r).swapped;
    const bool relu = blaslt::is_relu(r.epilogue);
    const bool forward_aux = blaslt::writes_aux(r.epilogue);
    const bool backward = blaslt::reads_aux(r.epilogue);
    const bool plain = r.epilogue == blaslt::epilogue::none ||
                       r.epilogue == blaslt::epilogue::bias || blaslt::sums_operand(r.epilogue);
    const matrix_place d(r.d, product);
    const matrix_place c = r.c.null() ? matrix_place() : matrix_place(r.c, product);
    const vector_place added = r.bias.null() ? vector_place() : vector_place(r.bias, product);
    const matrix_place kept = r.aux.null() ? matrix_place() : matrix_place(r.aux, product);
    const mask_bits mask(r.aux.null() ? r.d : r.aux, product, row_major);
    for (std::int64_t i = 0; i < r.d.extent(rows); ++i) {
      for (std::int64_t j = 0; j < r.d.extent(rows + 1); ++j) {
        Real x = alpha * value(i, j);
        if (c.first != nullptr) x += beta * c.template get<Real>(i, j);
        if (added.first != nullptr) x += element<Real>(added.type, added.first, j);
        if (forward_aux && relu) mask.set(i, j, x > 0);
        if (forward_aux && !relu) kept.set(i, j, x);
        if (backward) {
          x = relu ? (mask.get(i, j) ? x : Real{0}) : x * gelu_slope(kept.template get<Real>(i, j));
          if (!row_sums.empty()) row_sums[static_cast<std::size_t>(j)] += static_cast<double>(x);
        } else if (!plain) {
          x = relu ? std::max(x, Real{0}) : gelu(x);
        }
        amax_d = std::max(amax_d, std::abs(x));
        d.set(i, j, scale_d * x);
      }
    }
  }
};

}  // namespace troupe::cpu
