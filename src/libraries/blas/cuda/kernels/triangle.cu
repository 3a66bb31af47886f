#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/kernels/factors.cuh"
#include "libraries/blas/cuda/kernels/launch.cuh"

#include <algorithm>
#include <complex>
#include <utility>

namespace troupe::cuda {
namespace {

constexpr int tile = 32;
constexpr int depth = threads_per_block / tile;

template <class R>
__device__ void multiply(R& value, R factor, bool) {
  value = factor * value;
}
// A real factor multiplies part by part, so that a part that is not read spoils nothing.
template <class R>
__device__ void multiply(complex_value<R>& value, complex_value<R> factor, bool by_real) {
  value = by_real ? factor.re * value : factor * value;
}
template <class R>
__device__ void make_real(R&) {}
template <class R>
__device__ void make_real(complex_value<R>& value) {
  value.im = 0;
}

/// A matrix that is added; no address for none.
template <class D>
struct addend {
  const D* first = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

template <class D>
__global__ void __launch_bounds__(threads_per_block)
    scale_tiles(D* c, std::int64_t row, std::int64_t column, std::int64_t n, bool upper, D factor,
                weight how, bool hermitian, addend<D> added) {
  const std::int64_t edge = (n + tile - 1) / tile;
  for (std::int64_t t = blockIdx.x; t < edge * edge; t += gridDim.x) {
    const std::int64_t i0 = t % edge * tile;
    const std::int64_t j0 = t / edge * tile;
    if (upper ? i0 > j0 : i0 < j0) continue;  // wholly in the other triangle
    const std::int64_t i = i0 + threadIdx.x % tile;
    for (std::int64_t j = j0 + threadIdx.x / tile; j < j0 + tile && j < n; j += depth) {
      if (i >= n || (upper ? i > j : i < j)) continue;
      D value{};
      if (how != weight::zero) value = c[i * row + j * column];
      if (how == weight::any) multiply(value, factor, hermitian);
      if (hermitian && i == j) make_real(value);
      if (added.first != nullptr) value = added.first[i * added.row + j * added.column] + value;
      c[i * row + j * column] = value;
    }
  }
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    clear_imaginary(complex_value<R>* first, std::int64_t stride, std::int64_t n) {
  for (std::int64_t i = first_step(); i < n; i += step_width())
    make_real(first[i * stride]);
}

template <class T>
result<void> make_diagonal_real_as(lane& where, const any_tensor& c) {
  const std::int64_t n = c.extent(0);
  if (n == 0) return {};
  return launch(where, "clear_imaginary", clear_imaginary<typename T::value_type>,
                blocks_for(where, n), on_device(c.data<T>()), c.stride(0) + c.stride(1), n);
}

template <class T>
result<void> scale_as(lane& where, const any_tensor& c, bool upper, const scalar& beta,
                      bool hermitian, const any_tensor* with) {
  const weighted_factor<T> factor(beta);
  const std::int64_t n = c.extent(0);
  if (n == 0 || (factor.how == weight::one && with == nullptr)) return {};
  addend<device_t<T>> added;
  if (with != nullptr) added = {on_device(with->data<T>()), with->stride(0), with->stride(1)};
  std::int64_t row = c.stride(0);
  std::int64_t column = c.stride(1);
  if (column == 1) {  // neighbouring threads stand on neighbouring elements
    std::swap(row, column);
    std::swap(added.row, added.column);
    upper = !upper;
  }
  const std::int64_t edge = (n + tile - 1) / tile;
  return launch(where, "scale_tiles", scale_tiles<device_t<T>>,
                blocks_for(where, edge * edge * threads_per_block), on_device(c.data<T>()), row,
                column, n, upper, factor.value, factor.how, hermitian, added);
}

result<void> scale(lane& where, const any_tensor& c, bool upper, const scalar& beta, bool hermitian,
                   const any_tensor* with) {
  switch (c.type()) {
    case dtype::f32:
      return scale_as<float>(where, c, upper, beta, hermitian, with);
    case dtype::f64:
      return scale_as<double>(where, c, upper, beta, hermitian, with);
    case dtype::c64:
      return scale_as<std::complex<float>>(where, c, upper, beta, hermitian, with);
    case dtype::c128:
      return scale_as<std::complex<double>>(where, c, upper, beta, hermitian, with);
    default:
      return error{.code = errc::type_mismatch, .message = "no triangle of this type"};
  }
}

}  // namespace

result<void> scale_triangle(lane& where, const any_tensor& c, bool upper, const scalar& beta,
                            bool hermitian) {
  return scale(where, c, upper, beta, hermitian, nullptr);
}

result<void> add_triangle(lane& where, const any_tensor& c, bool upper, const scalar& beta,
                          const any_tensor& added) {
  return scale(where, c, upper, beta, false, &added);
}

result<void> make_diagonal_real(lane& where, const any_tensor& c) {
  switch (c.type()) {
    case dtype::c64:
      return make_diagonal_real_as<std::complex<float>>(where, c);
    case dtype::c128:
      return make_diagonal_real_as<std::complex<double>>(where, c);
    default:
      return error{.code = errc::type_mismatch, .message = "no complex matrix"};
  }
}

}  // namespace troupe::cuda
