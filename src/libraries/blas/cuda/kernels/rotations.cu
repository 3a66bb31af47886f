#include "libraries/blas/cuda/kernels/arithmetic.cuh"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/blas/cuda/kernels/rotations.hpp"
#include "libraries/blas/shared/rotations.hpp"

namespace troupe::cuda {
namespace {

template <class R>
__global__ void generate_one(R* a, R* b, R* c, R* s) {
  if (threadIdx.x != 0) return;
  const auto made = rotations::generate(*a, *b);
  *a = made.r;
  *b = made.z;
  *c = made.c;
  *s = made.s;
}

template <class R>
__global__ void generate_one(complex_value<R>* a, complex_value<R>* b, R* c, complex_value<R>* s) {
  if (threadIdx.x != 0) return;
  const auto made = rotations::generate(rotations::complex_parts<R>{a->re, a->im},
                                        rotations::complex_parts<R>{b->re, b->im});
  *a = {made.r.re, made.r.im};
  *c = made.c;
  *s = {made.s.re, made.s.im};
}

template <class R>
__global__ void generate_one_modified(R* d1, R* d2, R* x1, const R* y1, R* param) {
  if (threadIdx.x == 0) rotations::generate_modified(*d1, *d2, *x1, *y1, param);
}

}  // namespace

template <class T>
result<void> generate_rotation(const lane& where, T* a, T* b, real_t<T>* c, T* s) {
  using D = device_t<T>;
  constexpr void (*kernel)(D*, D*, real_t<T>*, D*) = generate_one;
  return launch(where, "generate_rotation", kernel, 1, on_device(a), on_device(b), c, on_device(s));
}

template <class T>
result<void> generate_modified_rotation(const lane& where, T* d1, T* d2, T* x1, const T* y1,
                                        T* param) {
  return launch(where, "generate_modified_rotation", generate_one_modified<T>, 1, d1, d2, x1, y1,
                param);
}

template result<void> generate_rotation(const lane&, float*, float*, float*, float*);
template result<void> generate_rotation(const lane&, double*, double*, double*, double*);
template result<void> generate_rotation(const lane&, c64*, c64*, float*, c64*);
template result<void> generate_rotation(const lane&, c128*, c128*, double*, c128*);
template result<void> generate_modified_rotation(const lane&, float*, float*, float*, const float*,
                                                 float*);
template result<void> generate_modified_rotation(const lane&, double*, double*, double*,
                                                 const double*, double*);

}  // namespace troupe::cuda
