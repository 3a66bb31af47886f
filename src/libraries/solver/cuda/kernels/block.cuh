#pragma once

#include "libraries/blas/cuda/kernels/arithmetic.cuh"

#include <cmath>
#include <cstdint>

/// The work of a block of threads on one matrix, in steps: `each` calls a function for each thread,
/// then waits for all. Threads read in a step only numbers that earlier steps wrote. A number that
/// is read between steps is not written in the step that follows. The host compiles this too: tests
/// run the threads of a step one after the other.
namespace troupe::cuda {

inline constexpr int matrix_threads = 256;

#ifdef __CUDACC__
struct block_of_threads {
  template <class Step>
  __device__ void each(const Step& step) const {
    step(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
};
#endif

template <class D>
struct real_value {
  using type = D;
};
template <class R>
struct real_value<complex_value<R>> {
  using type = R;
};
template <class D>
using real_value_t = typename real_value<D>::type;

template <class R>
__device__ inline R real_in(R v) {
  return v;
}
template <class R>
__device__ inline R real_in(complex_value<R> v) {
  return v.re;
}
template <class R>
__device__ inline R imaginary_in(R) {
  return 0;
}
template <class R>
__device__ inline R imaginary_in(complex_value<R> v) {
  return v.im;
}
template <class D>
__device__ inline D from_parts(real_value_t<D> re, real_value_t<D> im) {
  if constexpr (sizeof(D) == sizeof(re)) {
    return re;
  } else {
    return {re, im};
  }
}
/// LAPACK's measure of a pivot.
template <class D>
__device__ inline real_value_t<D> sum_of_parts(D v) {
  return std::fabs(real_in(v)) + std::fabs(imaginary_in(v));
}
template <class D>
__device__ inline real_value_t<D> larger_part(D v) {
  return std::fmax(std::fabs(real_in(v)), std::fabs(imaginary_in(v)));
}
template <class D>
__device__ inline real_value_t<D> magnitude(D v) {
  return std::hypot(real_in(v), imaginary_in(v));
}
template <class D>
__device__ inline real_value_t<D> square(D v) {
  return real_in(v) * real_in(v) + imaginary_in(v) * imaginary_in(v);
}
template <class D>
__device__ inline D divided(D v, real_value_t<D> by) {
  return from_parts<D>(real_in(v) / by, imaginary_in(v) / by);
}
template <class R>
__device__ inline R quotient(R a, R b) {
  return a / b;
}
/// Divides both by the larger part of b, so that no square leaves the range.
template <class R>
__device__ inline complex_value<R> quotient(complex_value<R> a, complex_value<R> b) {
  const R scale = larger_part(b);
  const complex_value<R> d{b.re / scale, b.im / scale};
  const complex_value<R> n{a.re / scale, a.im / scale};
  return divided(n * conjugate_of(d), square(d));
}

/// The numbers that the threads of a block share.
template <class D>
struct block_memory {
  using real = real_value_t<D>;

  D sums[matrix_threads];
  real reals[matrix_threads];
  real squares[matrix_threads];
  std::int64_t places[matrix_threads];
  std::int64_t place;
  real bound;
  D pivot;
  std::int32_t info;
  bool again;
};

/// Combines pairs of the first `count` threads until the first one has all.
template <class Block, class Combine>
__device__ void combine_threads(const Block& block, std::int64_t count, const Combine& combine) {
  int half = matrix_threads;
  while (half > 1 && half / 2 >= count)
    half /= 2;
  for (half /= 2; half > 0; half /= 2) {
    block.each([&](int t) {
      if (t < half) combine(t, t + half);
    });
  }
}

/// Leaves the place of the largest of `count` numbers, the first of several, in places[0].
/// `number(i)` is not negative; NaNs are passed over.
template <class Block, class D, class Number>
__device__ void find_largest(const Block& block, block_memory<D>& shared, std::int64_t count,
                             const Number& number) {
  block.each([&](int t) {
    real_value_t<D> best = -1;
    std::int64_t place = 0;
    for (std::int64_t i = t; i < count; i += matrix_threads) {
      const real_value_t<D> v = number(i);
      if (!(v > best)) continue;
      best = v;
      place = i;
    }
    shared.reals[t] = best;
    shared.places[t] = place;
  });
  combine_threads(block, count, [&](int to, int from) {
    const auto best = shared.reals[to];
    const auto other = shared.reals[from];
    if (!(other > best) && !(other == best && shared.places[from] < shared.places[to])) return;
    shared.reals[to] = other;
    shared.places[to] = shared.places[from];
  });
}

/// Leaves the largest part of `count` numbers in reals[0], and in squares[0] the sum of the squares
/// of their magnitudes after division by it.
template <class Block, class D>
__device__ void measure(const Block& block, block_memory<D>& shared, const D* numbers,
                        std::int64_t count) {
  using real = real_value_t<D>;
  block.each([&](int t) {
    real most = 0;
    for (std::int64_t i = t; i < count; i += matrix_threads)
      most = std::fmax(most, larger_part(numbers[i]));
    shared.reals[t] = most;
  });
  combine_threads(block, count, [&](int to, int from) {
    shared.reals[to] = std::fmax(shared.reals[to], shared.reals[from]);
  });
  block.each([&](int t) {
    const real most = shared.reals[0];
    real sum = 0;
    for (std::int64_t i = t; most > 0 && i < count; i += matrix_threads)
      sum += square(divided(numbers[i], most));
    shared.squares[t] = sum;
  });
  combine_threads(block, count,
                  [&](int to, int from) { shared.squares[to] += shared.squares[from]; });
}

}  // namespace troupe::cuda
