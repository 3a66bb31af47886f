#pragma once

// Shared by kernels that are compiled ahead and at run time, so that both give the same bits. The
// runtime compiler reads this text.

#include "libraries/elementwise/cuda/parameters.hpp"
#include "libraries/elementwise/shared/operations.hpp"

namespace troupe::elementwise::gpu {

using namespace operations;

template <class A, class B>
inline constexpr bool same_type = false;
template <class A>
inline constexpr bool same_type<A, A> = true;

// Elements --------------------------------------------------------------------------------------

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};
struct e4m3 {
  unsigned char bits;
};
struct e5m2 {
  unsigned char bits;
};
template <class T>
struct complex_pair {
  T part[2];
};
using c64 = complex_pair<float>;
using c128 = complex_pair<double>;

OPERATION float loaded(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
OPERATION float loaded(bf16 x) { return __int_as_float((int)((unsigned)x.bits << 16)); }
OPERATION float loaded(e5m2 x) { return loaded(f16{(unsigned short)(x.bits << 8)}); }
OPERATION float loaded(e4m3 x) {
  const unsigned sign = (x.bits & 0x80u) << 24;
  const unsigned magnitude = x.bits & 0x7fu;
  const float scaled = __int_as_float((int)(sign | magnitude << 20)) * 0x1p120f;
  return magnitude == 0x7fu ? __int_as_float((int)(sign | 0x7fc00000u)) : scaled;
}
OPERATION float loaded(float x) { return x; }
OPERATION double loaded(double x) { return x; }
OPERATION bool loaded(bool x) { return x; }
template <class T>
OPERATION i64 loaded(T x) {  // integers
  return (i64)x;
}

template <class T, class Number>
OPERATION T stored(Number x) {
  if constexpr (same_type<T, f16>) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  } else if constexpr (same_type<T, bf16>) {
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  } else if constexpr (same_type<T, e4m3>) {
    unsigned short y;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(x));
    return e4m3{(unsigned char)y};
  } else if constexpr (same_type<T, e5m2>) {
    unsigned short y;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(x));
    return e5m2{(unsigned char)y};
  } else {
    return (T)x;
  }
}

/// The elements that a thread moves at once.
template <class T, int N>
struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) vector {
  T at[N];
};
template <class T, int N>
OPERATION vector<T, N> load_vector(const char* at) {
  return *reinterpret_cast<const vector<T, N>*>(at);
}
template <class T, int N>
OPERATION void store_vector(char* at, const vector<T, N>& x) {
  *reinterpret_cast<vector<T, N>*>(at) = x;
}

// Loops -----------------------------------------------------------------------------------------

OPERATION unsigned divided(unsigned n, const loop_parameters& by) {
  return (__umulhi(n, by.multiplier) + n) >> by.shift;
}
OPERATION u64 divided(u64 n, const loop_parameters& by) { return n / by.extent; }

// Rows ------------------------------------------------------------------------------------------

/// A number and its position, for row_argmin and row_argmax.
template <class T>
struct placed {
  T number;
  i64 place;
};

// The identity, the accumulation and the joining of partial results of each row operation. The
// order of joining depends on the shape only.
struct row_sum {
  template <class T>
  static __device__ __forceinline__ T start() {
    return T(0);
  }
  template <class T>
  static __device__ __forceinline__ T join(T a, T b) {
    return op_add(a, b);
  }
};
struct row_product {
  template <class T>
  static __device__ __forceinline__ T start() {
    return T(1);
  }
  template <class T>
  static __device__ __forceinline__ T join(T a, T b) {
    return op_multiply(a, b);
  }
};
OPERATION void highest(float& x) { x = INFINITE; }
OPERATION void highest(double& x) { x = (double)INFINITE; }
OPERATION void highest(i64& x) { x = 0x7fffffffffffffffl; }
OPERATION void lowest(float& x) { x = -INFINITE; }
OPERATION void lowest(double& x) { x = -(double)INFINITE; }
OPERATION void lowest(i64& x) { x = -0x7fffffffffffffffl - 1; }
struct row_minimum {
  template <class T>
  static __device__ __forceinline__ T start() {
    T x;
    highest(x);
    return x;
  }
  template <class T>
  static __device__ __forceinline__ T join(T a, T b) {
    return op_minimum(a, b);
  }
};
struct row_maximum {
  template <class T>
  static __device__ __forceinline__ T start() {
    T x;
    lowest(x);
    return x;
  }
  template <class T>
  static __device__ __forceinline__ T join(T a, T b) {
    return op_maximum(a, b);
  }
};
// The first position of the best number. NaN is better than any number.
template <bool Least>
struct row_place {
  template <class T>
  static __device__ __forceinline__ placed<T> start() {
    return {T(0), -1};
  }
  template <class T>
  static __device__ __forceinline__ placed<T> join(placed<T> a, placed<T> b) {
    if (b.place < 0) return a;
    if (a.place < 0) return b;
    const bool nan_a = a.number != a.number;
    const bool nan_b = b.number != b.number;
    bool b_wins = nan_a != nan_b ? nan_b : Least ? b.number < a.number : b.number > a.number;
    const bool same = nan_a == nan_b && (nan_a || a.number == b.number);
    if (same) b_wins = b.place < a.place;
    return b_wins ? b : a;
  }
};
using row_argmin = row_place<true>;
using row_argmax = row_place<false>;

OPERATION float exchanged(float x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
OPERATION double exchanged(double x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
OPERATION i64 exchanged(i64 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
template <class T>
OPERATION placed<T> exchanged(placed<T> x, int mask) {
  return {exchanged(x.number, mask), exchanged(x.place, mask)};
}

/// Joins the partial results of a team of `threads`, a power of two from 32 on. All threads get the
/// result. A team of more than a warp is a whole block, and `room` holds one partial result per
/// warp.
template <class Operation, class Part>
OPERATION Part joined(Part mine, int threads, void* room) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1)
    mine = Operation::join(mine, exchanged(mine, mask));
  if (threads == 32) return mine;
  Part* parts = static_cast<Part*>(room);
  __syncthreads();  // other threads may still read the last result
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = mine;
  __syncthreads();
  Part all = parts[0];
  for (int i = 1; i < threads / 32; ++i)
    all = Operation::join(all, parts[i]);
  return all;
}

OPERATION void put_cell(long* cell, i64 x) { *cell = x; }
OPERATION void put_cell(long* cell, bool x) { *cell = x; }
OPERATION void put_cell(long* cell, float x) { *cell = __float_as_int(x); }
OPERATION void put_cell(long* cell, double x) { *cell = __double_as_longlong(x); }
template <class T>
OPERATION T cell_as(long bits) {
  if constexpr (same_type<T, float>) {
    return __int_as_float((int)bits);
  } else if constexpr (same_type<T, double>) {
    return __longlong_as_double(bits);
  } else {
    return (T)bits;
  }
}

}  // namespace troupe::elementwise::gpu
