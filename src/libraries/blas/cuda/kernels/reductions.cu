#include "backend/cuda/context/call_frame.hpp"
#include "libraries/blas/cuda/kernels/arithmetic.cuh"
#include "libraries/blas/cuda/kernels/block_sum.cuh"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/blas/cuda/kernels/reductions.hpp"
#include "libraries/blas/cuda/kernels/scalar_bytes.cuh"

#include <type_traits>

namespace troupe::cuda {
namespace {

template <class D>
__global__ void store_one_number(const D* from, scalar_bytes* to) {
  if (threadIdx.x == 0) store(to, *from);
}

__global__ void store_one_index(const std::int64_t* from, std::int64_t* to) {
  if (threadIdx.x == 0) *to = *from > 0 ? *from - 1 : 0;
}

template <class Sum, class D>
__device__ Sum product(D a, D b) {
  return static_cast<Sum>(widened(a)) * static_cast<Sum>(widened(b));
}
/// A complex number is multiplied by itself only: the square of its magnitude.
template <class Sum, class R>
__device__ Sum product(complex_value<R> a, complex_value<R> b) {
  return product<Sum>(a.re, b.re) + product<Sum>(a.im, b.im);
}

template <class Sum, class D>
__global__ void sum_products(const D* x, std::int64_t step_x, const D* y, std::int64_t step_y,
                             std::int64_t n, Sum* of_blocks) {
  Sum sum = 0;
  for (std::int64_t i = first_step(); i < n; i += step_width())
    sum += product<Sum>(x[i * step_x], y[i * step_y]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = sum;
}

template <bool Root, class Reply, class Sum, class D>
__global__ void sum_blocks(const Sum* of_blocks, unsigned count, Sum first, D* result,
                           scalar_bytes* reply) {
  Sum sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += threads_per_block)
    sum += of_blocks[i];
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  sum += first;
  if (Root) sum = sqrt(sum);
  if (result != nullptr) {
    *result = narrowed<D>::from(static_cast<decltype(widened(D{}))>(sum));
  } else {
    store(reply, static_cast<double>(static_cast<Reply>(sum)));
  }
}

/// first + Σ xᵢ · yᵢ, or its root, in Sum; a reply is rounded to Reply.
template <bool Root, class Reply, class Sum, class T, class Result>
result<void> reduce(lane& where, std::string_view name, strided<const T> x, strided<const T> y,
                    Sum first, Result* result, scalar* reply) {
  using D = device_t<T>;
  constexpr auto most = static_cast<unsigned>(reduction_bytes / sizeof(double));
  call_frame c(where);
  const auto of_blocks = c.array<Sum>(most);
  TRY(c.begin());
  // Several elements for each thread, so that few blocks are left to sum up.
  const unsigned blocks = std::min(blocks_for(where, x.count / 8), most);
  TRY(launch(where, name, sum_products<Sum, D>, blocks, on_device(x.first), x.step,
             on_device(y.first), y.step, x.count, of_blocks.get()));
  return launch(where, name, sum_blocks<Root, Reply, Sum, device_t<Result>>, 1, of_blocks.get(),
                blocks, first, on_device(result), reinterpret_cast<scalar_bytes*>(reply));
}

}  // namespace

template <class T>
result<void> store_number(const lane& where, const T* from, scalar* to) {
  return launch(where, "store_number", store_one_number<device_t<T>>, 1, on_device(from),
                reinterpret_cast<scalar_bytes*>(to));
}

result<void> store_index(const lane& where, const std::int64_t* from, std::int64_t* to) {
  return launch(where, "store_index", store_one_index, 1, from, to);
}

template <class Half>
result<void> dot_of_halves(lane& where, strided<const Half> x, strided<const Half> y, Half* result,
                           scalar* reply) {
  return reduce<false, float>(where, "dot_of_halves", x, y, 0.0F, result, reply);
}

template <class Result>
result<void> dot_in_f64(lane& where, strided<const float> x, strided<const float> y, double first,
                        Result* result, scalar* reply) {
  return reduce<false, Result>(where, "dot_in_f64", x, y, first, result, reply);
}

template <class T, class Result>
result<void> nrm2_in_f64(lane& where, strided<const T> x, Result* result, scalar* reply) {
  using Reply = std::conditional_t<sizeof(Result) == 2, double, Result>;
  return reduce<true, Reply>(where, "nrm2_in_f64", x, x, 0.0, result, reply);
}

template result<void> store_number(const lane&, const float*, scalar*);
template result<void> store_number(const lane&, const double*, scalar*);
template result<void> store_number(const lane&, const std::complex<float>*, scalar*);
template result<void> store_number(const lane&, const std::complex<double>*, scalar*);

template result<void> dot_of_halves(lane&, strided<const f16>, strided<const f16>, f16*, scalar*);
template result<void> dot_of_halves(lane&, strided<const bf16>, strided<const bf16>, bf16*,
                                    scalar*);
template result<void> dot_in_f64(lane&, strided<const float>, strided<const float>, double, double*,
                                 scalar*);
template result<void> dot_in_f64(lane&, strided<const float>, strided<const float>, double, float*,
                                 scalar*);
template result<void> nrm2_in_f64(lane&, strided<const f16>, f16*, scalar*);
template result<void> nrm2_in_f64(lane&, strided<const bf16>, bf16*, scalar*);
template result<void> nrm2_in_f64(lane&, strided<const float>, float*, scalar*);
template result<void> nrm2_in_f64(lane&, strided<const std::complex<float>>, float*, scalar*);

}  // namespace troupe::cuda
