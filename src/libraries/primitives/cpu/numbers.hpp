#pragma once

#include "libraries/memory/shared/conversion.hpp"
#include "libraries/primitives/shared/key_order.hpp"
#include "libraries/primitives/shared/tensor_rows.hpp"

#include <troupe/tensor/tensor.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Elements of vectors, as the executors of this library read and write them.
namespace troupe::cpu {

/// A boolean as memory holds it: a byte, which may hold more than 0 and 1.
struct truth {
  std::uint8_t byte = 0;
};

/// The accumulator of sums and products of `T`. Integers wrap around, so that their sign does not
/// matter.
template <class T>
using accumulator_for =
    std::conditional_t<std::same_as<T, double>, double,
                       std::conditional_t<std::same_as<T, float> || elementwise::is_small_float<T>,
                                          float, std::uint64_t>>;

template <class T>
[[nodiscard]] constexpr accumulator_for<T> widened(T value) noexcept {
  if constexpr (std::same_as<T, truth>) {
    return value.byte != 0 ? 1 : 0;
  } else {
    return static_cast<accumulator_for<T>>(value);
  }
}

/// An accumulated number as an element.
template <class To, class Accumulator>
[[nodiscard]] constexpr To narrowed(Accumulator value) noexcept {
  if constexpr (std::integral<Accumulator>) {
    return static_cast<To>(value);
  } else {
    return elementwise::narrowed<To>(value);
  }
}

/// Calls `f` with an element of the type, which is not complex.
template <class F>
auto with_number(dtype type, F f) {
  switch (type) {
    case dtype::f64:
      return f(double{});
    case dtype::f32:
      return f(float{});
    case dtype::f16:
      return f(f16{});
    case dtype::bf16:
      return f(bf16{});
    case dtype::e4m3:
      return f(e4m3{});
    case dtype::e5m2:
      return f(e5m2{});
    case dtype::i8:
      return f(std::int8_t{});
    case dtype::u8:
      return f(std::uint8_t{});
    case dtype::i16:
      return f(std::int16_t{});
    case dtype::u16:
      return f(std::uint16_t{});
    case dtype::i32:
      return f(std::int32_t{});
    case dtype::u32:
      return f(std::uint32_t{});
    case dtype::i64:
      return f(std::int64_t{});
    case dtype::u64:
      return f(std::uint64_t{});
    default:
      return f(truth{});
  }
}

using primitives::with_key;

/// A vector's elements as values of `T`, which has their width.
template <class T>
class elements {
 public:
  explicit elements(const any_tensor& of) noexcept
      : elements(of.address(), of.stride(0), of.extent(0)) {}
  elements(const primitives::tensor_rows& rows, std::int64_t row) noexcept
      : elements(rows.row(row), rows.step, rows.length) {}
  elements(std::byte* first, std::int64_t stride, std::int64_t count) noexcept
      : first_(reinterpret_cast<T*>(first)), stride_(stride), count_(count) {}

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::int64_t i) const noexcept { return first_[i * stride_]; }
  [[nodiscard]] elements part(std::int64_t begin, std::int64_t end) const noexcept {
    return {reinterpret_cast<std::byte*>(first_ + begin * stride_), stride_, end - begin};
  }

  /// Calls `f(first, n)` for each stretch of up to `Most` elements, which are packed.
  template <std::int64_t Most, class F>
  void for_each_stretch(F f) const {
    for (std::int64_t begin = 0; begin < count_; begin += Most) {
      const std::int64_t n = std::min(Most, count_ - begin);
      if (stride_ == 1) {
        f(static_cast<const T*>(first_ + begin), n);
      } else {
        T packed[static_cast<std::size_t>(Most)];
        for (std::int64_t i = 0; i < n; ++i)
          packed[i] = (*this)[begin + i];
        f(static_cast<const T*>(packed), n);
      }
    }
  }

 private:
  T* first_;
  std::int64_t stride_;
  std::int64_t count_;
};

/// Writes `index(i)` to the i-th place of a row of i64 or i32, if there is one.
template <class F>
void store_indices(const primitives::tensor_rows& to, std::int64_t row, F index) {
  if (to.first == nullptr) return;
  for (std::int64_t i = 0; i < to.length; ++i) {
    if (to.type == dtype::i32) {
      elements<std::int32_t>(to, row)[i] = static_cast<std::int32_t>(index(i));
    } else {
      elements<std::int64_t>(to, row)[i] = static_cast<std::int64_t>(index(i));
    }
  }
}

}  // namespace troupe::cpu
