#pragma once

#include "libraries/memory/shared/conversion.hpp"
#include "libraries/sparse/shared/pattern.hpp"

#include <troupe/base/error.hpp>
#include <troupe/tensor/scalar.hpp>

#include <complex>
#include <cstdint>
#include <type_traits>

/// Elements as the executors of this library compute with them.
namespace troupe::cpu {

/// The type in which values of `T` are multiplied and added up.
template <class T>
using working_type = std::conditional_t<elementwise::is_small_float<T>, float, T>;

template <class T>
[[nodiscard]] inline working_type<T> widened(T v) noexcept {
  return static_cast<working_type<T>>(v);
}

/// a · b by the textbook: std::complex looks for NaNs that are infinities.
template <class W>
[[nodiscard]] inline W times(W a, W b) noexcept {
  if constexpr (elementwise::is_complex_number<W>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}
template <class W>
[[nodiscard]] inline W conjugated(W v) noexcept {
  if constexpr (elementwise::is_complex_number<W>) {
    return {v.real(), -v.imag()};
  } else {
    return v;
  }
}

/// Calls `f` with a value of the type, which is one of this library's.
template <class F>
auto with_value(dtype type, F f) {
  switch (type) {
    case dtype::f64:
      return f(double{});
    case dtype::f16:
      return f(f16{});
    case dtype::bf16:
      return f(bf16{});
    case dtype::c64:
      return f(std::complex<float>{});
    case dtype::c128:
      return f(std::complex<double>{});
    default:
      return f(float{});
  }
}
/// Calls `f` with an index of the type.
template <class F>
auto with_index(dtype type, F f) {
  return type == dtype::i64 ? f(std::int64_t{}) : f(std::int32_t{});
}

/// alpha · sum + beta · old; `old` is not looked at where beta is 0.
template <class T>
struct update {
  using work = working_type<T>;
  work alpha;
  work beta;
  bool keeps;  ///< beta is not 0

  update(const scalar& a, const scalar& b) noexcept
      : alpha(a.as<work>()), beta(b.as<work>()), keeps(!b.is_zero()) {}
  void operator()(T& old, work sum) const noexcept {
    work made = times(alpha, sum);
    if (keeps) made += times(beta, widened(old));
    old = elementwise::narrowed<T>(made);
  }
  /// Without a product.
  void operator()(T& old) const noexcept {
    old = keeps ? elementwise::narrowed<T>(times(beta, widened(old))) : T{};
  }
};

/// A dense matrix, or a vector as one of a single column.
template <class T>
struct dense_elements {
  T* first;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;

  explicit dense_elements(const any_tensor& t) noexcept
      : first(reinterpret_cast<T*>(t.address())),
        rows(t.extent(0)),
        columns(t.rank() > 1 ? t.extent(1) : 1),
        row_stride(t.stride(0)),
        column_stride(t.rank() > 1 ? t.stride(1) : 1) {}
  [[nodiscard]] T* row(std::int64_t i) const noexcept { return first + i * row_stride; }
  [[nodiscard]] T& operator()(std::int64_t i, std::int64_t j) const noexcept {
    return first[i * row_stride + j * column_stride];
  }
};

/// That some element of a sparse matrix has no place: the first of them.
[[nodiscard]] error misplaced_element(const sparse_matrix& a);
/// That an index of a sparse vector points outside: the first that does.
[[nodiscard]] error index_outside(std::int64_t at, std::int64_t index, std::int64_t extent);

}  // namespace troupe::cpu
