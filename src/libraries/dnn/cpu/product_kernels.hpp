#pragma once

#include <concepts>
#include <cstdint>

namespace troupe::cpu {

/// Adds a product of two packed panels to a tile: for each of `depth` steps, `a` has `rows` numbers
/// and `b` has `columns`, both of the kernel's own; c[r · stride + j] += Σ a[r] · b[j].
template <class T>
struct product_kernel {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  void (*add)(const T* a, const T* b, std::int64_t depth, T* c, std::int64_t stride) = nullptr;
};

/// The loops for one kind of processor. Integers are computed modulo 2³².
struct product_kernels {
  product_kernel<float> of_f32;
  product_kernel<double> of_f64;
  product_kernel<std::uint32_t> of_i32;

  [[nodiscard]] static const product_kernels& mine() noexcept;

  template <class T>
  [[nodiscard]] const product_kernel<T>& of() const noexcept {
    if constexpr (std::same_as<T, double>) {
      return of_f64;
    } else if constexpr (std::same_as<T, float>) {
      return of_f32;
    } else {
      return of_i32;
    }
  }
};

extern const product_kernels avx512_product_kernels;
extern const product_kernels avx2_product_kernels;
extern const product_kernels plain_product_kernels;

}  // namespace troupe::cpu
