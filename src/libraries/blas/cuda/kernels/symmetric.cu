#include "libraries/blas/cuda/kernels/arithmetic.cuh"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/blas/cuda/kernels/symmetric.hpp"

namespace troupe::cuda {
namespace {

/// Element [low, high], low <= high, of an upper triangle, or its mirror image [high, low] of a
/// lower one.
template <class D>
struct band_elements {
  const D* first;
  std::int64_t ld;
  std::int64_t k;
  bool upper;

  __device__ D at(std::int64_t low, std::int64_t high) const {
    return upper ? first[k + low - high + high * ld] : first[high - low + low * ld];
  }
};

template <class D>
struct packed_elements {
  const D* first;
  std::int64_t n;
  bool upper;

  __device__ D at(std::int64_t low, std::int64_t high) const {
    return upper ? first[low + high * (high + 1) / 2] : first[high + low * (2 * n - low - 1) / 2];
  }
};

/// Each warp sums up one row, over the `reach` columns on either side of the diagonal.
template <class Elements, class D>
__global__ void multiply_symmetric(Elements a, std::int64_t n, std::int64_t reach, const D* x,
                                   std::int64_t step_x, D* y, std::int64_t step_y, D alpha, D beta,
                                   bool reads_a, bool reads_y) {
  const int lane_of_warp = static_cast<int>(threadIdx.x % 32);
  for (std::int64_t i = first_step() / 32; i < n; i += step_width() / 32) {
    D sum{};
    if (reads_a) {
      const std::int64_t begin = i > reach ? i - reach : 0;
      const std::int64_t end = n - i > reach ? i + reach + 1 : n;
      for (std::int64_t j = begin + lane_of_warp; j < end; j += 32)
        sum = sum + (j < i ? a.at(j, i) : a.at(i, j)) * x[j * step_x];
      for (int ahead = 16; ahead > 0; ahead /= 2) {
        sum.re += __shfl_down_sync(~0u, sum.re, ahead);
        sum.im += __shfl_down_sync(~0u, sum.im, ahead);
      }
    }
    if (lane_of_warp != 0) continue;
    const D product = reads_a ? alpha * sum : D{};
    y[i * step_y] = reads_y ? product + beta * y[i * step_y] : product;
  }
}

template <class Elements, class T>
result<void> enqueue(const lane& where, std::string_view name, Elements a, std::int64_t reach,
                     strided<const T> x, strided<T> y, T alpha, T beta) {
  return launch(where, name, multiply_symmetric<Elements, device_t<T>>,
                blocks_for(where, y.count * 32), a, y.count, reach, on_device(x.first), x.step,
                on_device(y.first), y.step, value_of(alpha), value_of(beta), alpha != T{},
                beta != T{});
}

}  // namespace

template <class T>
result<void> multiply(const lane& where, const symmetric_band<T>& a, strided<const T> x,
                      strided<T> y, T alpha, T beta) {
  const band_elements<device_t<T>> elements{on_device(a.first), a.ld, a.k, a.upper};
  return enqueue(where, "multiply_symmetric_band", elements, a.k, x, y, alpha, beta);
}

template <class T>
result<void> multiply(const lane& where, const symmetric_packed<T>& a, strided<const T> x,
                      strided<T> y, T alpha, T beta) {
  const packed_elements<device_t<T>> elements{on_device(a.first), a.n, a.upper};
  return enqueue(where, "multiply_symmetric_packed", elements, a.n, x, y, alpha, beta);
}

#define TROUPE_SYMMETRIC(T)                                                                 \
  template result<void> multiply(const lane&, const symmetric_band<T>&, strided<const T>,   \
                                 strided<T>, T, T);                                         \
  template result<void> multiply(const lane&, const symmetric_packed<T>&, strided<const T>, \
                                 strided<T>, T, T)
TROUPE_SYMMETRIC(std::complex<float>);
TROUPE_SYMMETRIC(std::complex<double>);
#undef TROUPE_SYMMETRIC

}  // namespace troupe::cuda
