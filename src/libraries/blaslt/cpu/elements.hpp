#pragma once

#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

/// Converts single elements of the types of products to the type they are computed in, which is
/// exact, and back, which rounds once.
namespace troupe::cpu {

/// The element at `index` from `first` on. `Real` is float, or double for f64.
template <class Real>
[[nodiscard]] Real element(dtype type, const std::byte* first, std::int64_t index) noexcept {
  const auto at = [&]<class T>(T) { return reinterpret_cast<const T*>(first)[index]; };
  switch (type) {
    case dtype::f64:
      return static_cast<Real>(at(double{}));
    case dtype::f32:
      return static_cast<Real>(at(float{}));
    case dtype::f16:
      return static_cast<Real>(static_cast<float>(at(f16{})));
    case dtype::bf16:
      return static_cast<Real>(static_cast<float>(at(bf16{})));
    case dtype::e4m3:
      return static_cast<Real>(static_cast<float>(at(e4m3{})));
    case dtype::e5m2:
      return static_cast<Real>(static_cast<float>(at(e5m2{})));
    case dtype::i8:
      return static_cast<Real>(at(std::int8_t{}));
    default:
      return {};  // every other type is refused
  }
}

/// Clamps values beyond `limit`; NaN stays.
template <class Real>
[[nodiscard]] float saturated(Real value, float limit) noexcept {
  return std::clamp(static_cast<float>(value), -limit, limit);
}

/// Stores to nearest even; fp8 and i8 saturate.
template <class Real>
void store_element(dtype type, std::byte* first, std::int64_t index, Real value) noexcept {
  const auto put = [&]<class T>(T rounded) { reinterpret_cast<T*>(first)[index] = rounded; };
  switch (type) {
    case dtype::f64:
      return put(static_cast<double>(value));
    case dtype::f32:
      return put(static_cast<float>(value));
    case dtype::f16:
      return put(f16(static_cast<float>(value)));
    case dtype::bf16:
      return put(bf16(static_cast<float>(value)));
    case dtype::e4m3:
      return put(e4m3(saturated(value, 448.F)));
    case dtype::e5m2:
      return put(e5m2(saturated(value, 57344.F)));
    case dtype::i8: {
      const float whole = std::nearbyint(static_cast<float>(value));
      return put(
          static_cast<std::int8_t>(std::isnan(whole) ? 0.F : std::clamp(whole, -128.F, 127.F)));
    }
    default:
      return;
  }
}

/// One matrix of a batch: elements by row and column.
struct matrix_place {
  std::byte* first = nullptr;
  dtype type{};
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;

  matrix_place() = default;
  matrix_place(const any_tensor& t, std::int64_t product) noexcept
      : first(t.address()),
        type(t.type()),
        row_stride(t.stride(t.rank() - 2)),
        column_stride(t.stride(t.rank() - 1)) {
    if (t.rank() == 3) first += product * t.stride(0) * size_of(type);
  }

  [[nodiscard]] std::int64_t index(std::int64_t i, std::int64_t j) const noexcept {
    return i * row_stride + j * column_stride;
  }
  template <class Real>
  [[nodiscard]] Real get(std::int64_t i, std::int64_t j) const noexcept {
    return element<Real>(type, first, index(i, j));
  }
  template <class Real>
  void set(std::int64_t i, std::int64_t j, Real value) const noexcept {
    store_element(type, first, index(i, j), value);
  }
};

/// One vector of a batch, or the one that all products share.
struct vector_place {
  std::byte* first = nullptr;
  dtype type{};

  vector_place() = default;
  vector_place(const any_tensor& t, std::int64_t product) noexcept
      : first(t.address()), type(t.type()) {
    if (t.rank() == 2) first += product * t.stride(0) * size_of(type);
  }
};

}  // namespace troupe::cpu
