#include "libraries/blas/cuda/kernels/arithmetic.cuh"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/blas/cuda/kernels/vectors.hpp"

namespace troupe::cuda {
namespace {

template <class D, class Factor>
__global__ void multiply_all(D* y, std::int64_t step, std::int64_t n, Factor factor) {
  for (std::int64_t i = first_step(); i < n; i += step_width())
    y[i * step] = narrowed<D>::from(factor * widened(y[i * step]));
}

template <class D>
__global__ void clear_all(D* y, std::int64_t step, std::int64_t n) {
  for (std::int64_t i = first_step(); i < n; i += step_width())
    y[i * step] = D{};
}

template <class D>
__global__ void copy_all_reversed(const D* x, std::int64_t step_x, D* y, std::int64_t step_y,
                                  std::int64_t n) {
  for (std::int64_t i = first_step(); i < n; i += step_width())
    y[i * step_y] = x[(n - 1 - i) * step_x];
}

template <class D>
__global__ void conjugate_all(const D* from, std::int64_t from_step, D* to, std::int64_t to_step,
                              std::int64_t n) {
  for (std::int64_t i = first_step(); i < n; i += step_width())
    to[i * to_step] = conjugate_of(from[i * from_step]);
}

template <class R, class D>
__global__ void rotate_all(D* x, std::int64_t step_x, D* y, std::int64_t step_y, std::int64_t n,
                           R c, D s, const R* c_at, const D* s_at) {
  if (c_at != nullptr) c = *c_at;
  if (s_at != nullptr) s = *s_at;
  for (std::int64_t i = first_step(); i < n; i += step_width()) {
    const D old_x = x[i * step_x];
    const D old_y = y[i * step_y];
    x[i * step_x] = c * old_x + s * old_y;
    y[i * step_y] = c * old_y - conjugate_of(s) * old_x;
  }
}

}  // namespace

template <class T, class Factor>
result<void> multiply_by(const lane& where, strided<T> y, Factor factor) {
  return launch(where, "multiply_by", multiply_all<device_t<T>, device_t<Factor>>,
                blocks_for(where, y.count), on_device(y.first), y.step, y.count, value_of(factor));
}

template <class T>
result<void> clear(const lane& where, strided<T> y) {
  return launch(where, "clear", clear_all<device_t<T>>, blocks_for(where, y.count),
                on_device(y.first), y.step, y.count);
}

template <class T>
result<void> copy_reversed(const lane& where, strided<T> x, strided<T> y) {
  return launch(where, "copy_reversed", copy_all_reversed<device_t<T>>, blocks_for(where, x.count),
                on_device(x.first), x.step, on_device(y.first), y.step, x.count);
}

template <class T>
result<void> conjugate_in_place(const lane& where, strided<T> x) {
  return launch(where, "conjugate_in_place", conjugate_all<device_t<T>>, blocks_for(where, x.count),
                on_device(x.first), x.step, on_device(x.first), x.step, x.count);
}

template <class T>
result<void> copy_conjugate(const lane& where, strided<T> x, T* to) {
  return launch(where, "copy_conjugate", conjugate_all<device_t<T>>, blocks_for(where, x.count),
                on_device(x.first), x.step, on_device(to), 1, x.count);
}

template <class Real, class T>
result<void> rotate(const lane& where, strided<T> x, strided<T> y, const rotation<Real, T>& by) {
  return launch(where, "rotate", rotate_all<Real, device_t<T>>, blocks_for(where, x.count),
                on_device(x.first), x.step, on_device(y.first), y.step, x.count, by.c,
                value_of(by.s), by.c_at, on_device(by.s_at));
}

#define TROUPE_VECTORS(Real, T)                                             \
  template result<void> multiply_by(const lane&, strided<T>, T);            \
  template result<void> clear(const lane&, strided<T>);                     \
  template result<void> copy_reversed(const lane&, strided<T>, strided<T>); \
  template result<void> rotate(const lane&, strided<T>, strided<T>, const rotation<Real, T>&)
TROUPE_VECTORS(float, float);
TROUPE_VECTORS(double, double);
TROUPE_VECTORS(float, std::complex<float>);
TROUPE_VECTORS(double, std::complex<double>);
#undef TROUPE_VECTORS

template result<void> multiply_by(const lane&, strided<f16>, float);
template result<void> multiply_by(const lane&, strided<bf16>, float);

#define TROUPE_CONJUGATES(T)                                         \
  template result<void> conjugate_in_place(const lane&, strided<T>); \
  template result<void> copy_conjugate(const lane&, strided<T>, T*)
TROUPE_CONJUGATES(std::complex<float>);
TROUPE_CONJUGATES(std::complex<double>);
#undef TROUPE_CONJUGATES

}  // namespace troupe::cuda
