#pragma once

#include "libraries/blas/cuda/kernels/arithmetic.cuh"

#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <complex>
#include <cstdint>
#include <utility>

/// Dense operands as kernels see them, and types of values.
namespace troupe::cuda {

/// The type in which values of a device type are multiplied and added.
template <class D>
using work_of = decltype(widened(std::declval<D>()));

/// A dense matrix; a vector is a matrix with one column.
template <class D>
struct dense_operand {
  D* first;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;

  explicit dense_operand(const any_tensor& t)
      : first(reinterpret_cast<D*>(t.address())),
        rows(t.extent(0)),
        columns(t.rank() > 1 ? t.extent(1) : 1),
        row_stride(t.stride(0)),
        column_stride(t.rank() > 1 ? t.stride(1) : 1) {}
  __device__ D& operator()(std::int64_t i, std::int64_t j = 0) const {
    return first[i * row_stride + j * column_stride];
  }
};

/// alpha · sum + beta · old; if beta is 0, `old` is not read.
template <class D>
struct device_update {
  using work = work_of<D>;
  work alpha;
  work beta;
  bool keeps;

  __device__ void operator()(D& old, work sum) const {
    work made = alpha * sum;
    if (keeps) made = made + beta * widened(old);
    old = narrowed<D>::from(made);
  }
};

/// Calls `f(T{}, D{})` with the host type and the device type of values.
template <class F>
auto with_values(dtype type, F f) {
  switch (type) {
    case dtype::f64:
      return f(double{}, double{});
    case dtype::f16:
      return f(f16{}, __half{});
    case dtype::bf16:
      return f(bf16{}, __nv_bfloat16{});
    case dtype::c64:
      return f(std::complex<float>{}, complex_value<float>{});
    case dtype::c128:
      return f(std::complex<double>{}, complex_value<double>{});
    default:
      return f(float{}, float{});
  }
}

/// A factor in the type of kernels' arithmetic.
template <class W>
struct factor_as {
  static W of(const scalar& s) { return s.as<W>(); }
};
template <class R>
struct factor_as<complex_value<R>> {
  static complex_value<R> of(const scalar& s) { return value_of(s.as<std::complex<R>>()); }
};

template <class D>
[[nodiscard]] device_update<D> update_of(const scalar& alpha, const scalar& beta) {
  using work = work_of<D>;
  return {factor_as<work>::of(alpha), factor_as<work>::of(beta), !beta.is_zero()};
}

}  // namespace troupe::cuda
