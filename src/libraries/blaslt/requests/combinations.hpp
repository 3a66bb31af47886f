#pragma once

#include <troupe/tensor/dtype.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

/// The element types that cuBLASLt multiplies together on compute capability 9.0. Source: cuBLAS
/// documentation, cublasLtMatmul, "Datatypes Supported".
namespace troupe::blaslt {

/// The arithmetic of a product.
enum class arithmetic : std::uint8_t {
  f64,
  f32,
  complex,
  i32,         ///< sums, alpha and beta are 32-bit integers
  i32_scaled,  ///< sums are, alpha and beta are f32
  i8_f32,      ///< i8, all else f32
  fp8,
};

struct combination {
  dtype a, b, c, d;
  arithmetic computed;
  dtype bias;  ///< and of its gradient; unused without epilogues

  [[nodiscard]] constexpr bool takes(dtype left, dtype right, dtype out) const noexcept {
    return a == left && b == right && d == out;
  }
};

inline constexpr std::array combinations = [] {
  using enum dtype;
  return std::array{
      combination{f64, f64, f64, f64, arithmetic::f64, f64},
      combination{f32, f32, f32, f32, arithmetic::f32, f32},
      combination{f16, f16, f16, f16, arithmetic::f32, f16},
      combination{bf16, bf16, bf16, bf16, arithmetic::f32, bf16},
      combination{f16, f16, f32, f32, arithmetic::f32, f32},
      combination{bf16, bf16, f32, f32, arithmetic::f32, f32},
      combination{c64, c64, c64, c64, arithmetic::complex, c64},
      combination{c128, c128, c128, c128, arithmetic::complex, c128},
      combination{i8, i8, i32, i32, arithmetic::i32, i32},
      combination{i8, i8, i8, i8, arithmetic::i32_scaled, f32},
      combination{i8, i8, f32, f32, arithmetic::i8_f32, f32},
      combination{e4m3, e4m3, bf16, bf16, arithmetic::fp8, bf16},
      combination{e4m3, e4m3, f16, f16, arithmetic::fp8, f16},
      combination{e4m3, e4m3, f32, f32, arithmetic::fp8, bf16},
      combination{e4m3, e4m3, bf16, e4m3, arithmetic::fp8, bf16},
      combination{e4m3, e4m3, f16, e4m3, arithmetic::fp8, f16},
      combination{e4m3, e5m2, bf16, bf16, arithmetic::fp8, bf16},
      combination{e4m3, e5m2, f16, f16, arithmetic::fp8, f16},
      combination{e4m3, e5m2, f32, f32, arithmetic::fp8, bf16},
      combination{e4m3, e5m2, bf16, e4m3, arithmetic::fp8, bf16},
      combination{e4m3, e5m2, f16, e4m3, arithmetic::fp8, f16},
      combination{e4m3, e5m2, bf16, e5m2, arithmetic::fp8, bf16},
      combination{e4m3, e5m2, f16, e5m2, arithmetic::fp8, f16},
      combination{e5m2, e4m3, bf16, bf16, arithmetic::fp8, bf16},
      combination{e5m2, e4m3, f16, f16, arithmetic::fp8, f16},
      combination{e5m2, e4m3, f32, f32, arithmetic::fp8, bf16},
      combination{e5m2, e4m3, bf16, e4m3, arithmetic::fp8, bf16},
      combination{e5m2, e4m3, f16, e4m3, arithmetic::fp8, f16},
      combination{e5m2, e4m3, bf16, e5m2, arithmetic::fp8, bf16},
      combination{e5m2, e4m3, f16, e5m2, arithmetic::fp8, f16},
  };
}();

[[nodiscard]] constexpr bool is_fp8(dtype type) noexcept {
  return type == dtype::e4m3 || type == dtype::e5m2;
}

/// The combination of these types. Without c or bias, the first that fits: cuBLASLt requires a type
/// of c even if it reads none.
[[nodiscard]] constexpr std::optional<combination> combination_of(
    dtype a, dtype b, std::optional<dtype> c, dtype d, std::optional<dtype> bias) noexcept {
  const auto* const found = std::ranges::find_if(combinations, [&](const combination& one) {
    return one.takes(a, b, d) && (!c || one.c == *c) && (!bias || one.bias == *bias);
  });
  if (found == combinations.end()) return std::nullopt;
  return *found;
}

}  // namespace troupe::blaslt
