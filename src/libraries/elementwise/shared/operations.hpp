#pragma once

// The computation of each opcode, for both backends. The runtime compiler of CUDA takes this very
// text, so it includes nothing there; `OPERATION` declares a function.
//
// Every function is a plain C++ one of `bool`, `i64`, `float` or `double`, rounded operation by
// operation: compile without contraction of products and sums.

#ifdef __CUDACC__
#define OPERATION static __device__ __forceinline__
#define INFINITE __int_as_float(0x7f800000)
#else
#include <cmath>
#define OPERATION static inline
#define INFINITE __builtin_inff()
#endif

namespace troupe::elementwise::operations {

using i64 = long;
using u64 = unsigned long;

// Integers wrap.
// clang-format off
OPERATION i64 op_negative(i64 a) { return (i64)(0 - (u64)a); }
OPERATION float op_negative(float a) { return -a; }
OPERATION double op_negative(double a) { return -a; }
OPERATION i64 op_abs(i64 a) { return a < 0 ? (i64)(0 - (u64)a) : a; }
OPERATION float op_abs(float a) { return fabsf(a); }
OPERATION double op_abs(double a) { return fabs(a); }
OPERATION i64 op_sign(i64 a) { return (a > 0) - (a < 0); }
OPERATION float op_sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; }
OPERATION double op_sign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; }
OPERATION bool op_bit_not(bool a) { return !a; }
OPERATION i64 op_bit_not(i64 a) { return ~a; }

#define REAL_FUNCTION(name, function) \
  OPERATION float op_##name(float a) { return ::function##f(a); } \
  OPERATION double op_##name(double a) { return ::function(a); }
REAL_FUNCTION(ceil, ceil)
REAL_FUNCTION(floor, floor)
REAL_FUNCTION(trunc, trunc)
REAL_FUNCTION(round, rint)
REAL_FUNCTION(sqrt, sqrt)
REAL_FUNCTION(cbrt, cbrt)
REAL_FUNCTION(exp, exp)
REAL_FUNCTION(exp2, exp2)
REAL_FUNCTION(expm1, expm1)
REAL_FUNCTION(log, log)
REAL_FUNCTION(log2, log2)
REAL_FUNCTION(log10, log10)
REAL_FUNCTION(log1p, log1p)
REAL_FUNCTION(sin, sin)
REAL_FUNCTION(cos, cos)
REAL_FUNCTION(tan, tan)
REAL_FUNCTION(asin, asin)
REAL_FUNCTION(acos, acos)
REAL_FUNCTION(atan, atan)
REAL_FUNCTION(sinh, sinh)
REAL_FUNCTION(cosh, cosh)
REAL_FUNCTION(tanh, tanh)
REAL_FUNCTION(asinh, asinh)
REAL_FUNCTION(acosh, acosh)
REAL_FUNCTION(atanh, atanh)
REAL_FUNCTION(erf, erf)
REAL_FUNCTION(erfc, erfc)
REAL_FUNCTION(tgamma, tgamma)
#undef REAL_FUNCTION
OPERATION float op_rsqrt(float a) { return 1.0f / ::sqrtf(a); }
OPERATION double op_rsqrt(double a) { return 1.0 / ::sqrt(a); }
#ifdef __CUDACC__
OPERATION float op_lgamma(float a) { return ::lgammaf(a); }
OPERATION double op_lgamma(double a) { return ::lgamma(a); }
#else
// The C library's own sets a global variable to the sign.
OPERATION float op_lgamma(float a) { int sign; return ::lgammaf_r(a, &sign); }
OPERATION double op_lgamma(double a) { int sign; return ::lgamma_r(a, &sign); }
#endif
#ifdef __CUDACC__
// To 22 bits and more, for results that are rounded to 16 bits or fewer.
OPERATION float op_divide_fast(float a, float b) {
  const float magnitude = fabsf(b);
  if (magnitude < 1.17549435e-38f || magnitude > 8.5e37f) return a / b;  // its reciprocal is not normal
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(b));
  return a * reciprocal;
}
OPERATION float op_exp_fast(float a) { return __expf(a); }
OPERATION float op_exp2_fast(float a) { float y; asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(a)); return y; }
OPERATION float op_rsqrt_fast(float a) { float y; asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(a)); return y; }
OPERATION float op_sqrt_fast(float a) { float y; asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(a)); return y; }
OPERATION float op_tanh_fast(float a) {
  const float magnitude = fabsf(a);
  const float e = __expf(2.0f * (magnitude < 20.0f ? magnitude : 20.0f));
  const float square = a * a;
  const float near = a * (1.0f - square * (0.333333333f - square * 0.133333333f));
  return magnitude < 0.1f || a != a ? near : copysignf(1.0f - op_divide_fast(2.0f, e + 1.0f), a);
}
#endif
OPERATION bool op_is_nan(float a) { return a != a; }
OPERATION bool op_is_nan(double a) { return a != a; }
OPERATION bool op_is_infinite(float a) { return fabsf(a) == (float)INFINITE; }
OPERATION bool op_is_infinite(double a) { return fabs(a) == (double)INFINITE; }

OPERATION i64 op_add(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
OPERATION float op_add(float a, float b) { return a + b; }
OPERATION double op_add(double a, double b) { return a + b; }
OPERATION i64 op_subtract(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
OPERATION float op_subtract(float a, float b) { return a - b; }
OPERATION double op_subtract(double a, double b) { return a - b; }
OPERATION i64 op_multiply(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
#ifdef __CUDACC__
// A linker of intermediate code that contracts products and sums leaves these apart.
OPERATION float op_multiply(float a, float b) { return __fmul_rn(a, b); }
OPERATION double op_multiply(double a, double b) { return __dmul_rn(a, b); }
#else
OPERATION float op_multiply(float a, float b) { return a * b; }
OPERATION double op_multiply(double a, double b) { return a * b; }
#endif
OPERATION float op_divide(float a, float b) { return a / b; }
OPERATION double op_divide(double a, double b) { return a / b; }

// Rounded down. By −1 the least integer wraps.
OPERATION i64 op_quotient(i64 a, i64 b) {
  if (b == 0) return 0;
  if (b == -1) return op_negative(a);
  const i64 q = a / b;
  return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
OPERATION i64 op_remainder(i64 a, i64 b) {
  if (b == 0 || b == -1) return 0;
  const i64 r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
// These take i64 that stand for u64.
OPERATION i64 op_unsigned_quotient(i64 a, i64 b) { return b == 0 ? 0 : (i64)((u64)a / (u64)b); }
OPERATION i64 op_unsigned_remainder(i64 a, i64 b) { return b == 0 ? 0 : (i64)((u64)a % (u64)b); }
OPERATION i64 op_unsigned_shift_right(i64 a, i64 b) { return (u64)b > 63 ? 0 : (i64)((u64)a >> b); }
// Reals are divided as Python and NumPy do: the remainder is exact but where b is added, and the quotient is
// the integer that belongs to it, which ⌊a / b⌋ is not where a / b is rounded up to an integer.
OPERATION float plain_remainder(float a, float b) { return ::fmodf(a, b); }
OPERATION double plain_remainder(double a, double b) { return ::fmod(a, b); }
OPERATION float rounded_down(float a) { return ::floorf(a); }
OPERATION double rounded_down(double a) { return ::floor(a); }
OPERATION float with_sign_of(float a, float b) { return ::copysignf(a, b); }
OPERATION double with_sign_of(double a, double b) { return ::copysign(a, b); }
template <class T> OPERATION T op_remainder(T a, T b) {
  const T r = plain_remainder(a, b);
  if (r == 0) return with_sign_of(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
template <class T> OPERATION T op_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T r = plain_remainder(a, b);
  T q = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) q -= 1;
  if (q == 0) return with_sign_of((T)0, a / b);
  const T down = rounded_down(q);
  return q - down > (T)0.5 ? down + 1 : down;
}
#define REAL_FUNCTION(name, function) \
  OPERATION float op_##name(float a, float b) { return ::function##f(a, b); } \
  OPERATION double op_##name(double a, double b) { return ::function(a, b); }
REAL_FUNCTION(power, pow)
REAL_FUNCTION(atan2, atan2)
REAL_FUNCTION(hypot, hypot)
REAL_FUNCTION(copysign, copysign)
#undef REAL_FUNCTION

// `minimum` and `maximum` give NaN where either is, and −0 < +0; `fmin` and `fmax` the other one.
#ifdef __CUDACC__
OPERATION bool is_negative(float a) { return __float_as_int(a) < 0; }
OPERATION bool is_negative(double a) { return __double_as_longlong(a) < 0; }
#else
OPERATION bool is_negative(float a) { return __builtin_signbit(a) != 0; }
OPERATION bool is_negative(double a) { return __builtin_signbit(a) != 0; }
#endif
template <class T> OPERATION T smaller(T a, T b) { return a < b || (a == b && is_negative(a)) ? a : b; }
template <class T> OPERATION T larger(T a, T b) { return a > b || (a == b && is_negative(b)) ? a : b; }
OPERATION i64 op_minimum(i64 a, i64 b) { return a < b ? a : b; }
OPERATION float op_minimum(float a, float b) { return a != a ? a : smaller(a, b); }
OPERATION double op_minimum(double a, double b) { return a != a ? a : smaller(a, b); }
OPERATION i64 op_maximum(i64 a, i64 b) { return a > b ? a : b; }
OPERATION float op_maximum(float a, float b) { return a != a ? a : larger(a, b); }
OPERATION double op_maximum(double a, double b) { return a != a ? a : larger(a, b); }
OPERATION i64 op_fmin(i64 a, i64 b) { return a < b ? a : b; }
OPERATION float op_fmin(float a, float b) { return b != b ? a : smaller(a, b); }
OPERATION double op_fmin(double a, double b) { return b != b ? a : smaller(a, b); }
OPERATION i64 op_fmax(i64 a, i64 b) { return a > b ? a : b; }
OPERATION float op_fmax(float a, float b) { return b != b ? a : larger(a, b); }
OPERATION double op_fmax(double a, double b) { return b != b ? a : larger(a, b); }

template <class T> OPERATION bool op_equal(T a, T b) { return a == b; }
template <class T> OPERATION bool op_not_equal(T a, T b) { return a != b; }
template <class T> OPERATION bool op_less(T a, T b) { return a < b; }
template <class T> OPERATION bool op_less_equal(T a, T b) { return a <= b; }

template <class T> OPERATION T op_bit_and(T a, T b) { return (T)(a & b); }
template <class T> OPERATION T op_bit_or(T a, T b) { return (T)(a | b); }
template <class T> OPERATION T op_bit_xor(T a, T b) { return (T)(a ^ b); }
OPERATION i64 op_shift_left(i64 a, i64 b) { return (u64)b > 63 ? 0 : (i64)((u64)a << b); }
OPERATION i64 op_shift_right(i64 a, i64 b) { return a >> ((u64)b > 63 ? 63 : b); }
// clang-format on

// Word `number` of the philox stream of `seed`, as rng.bits draws it: four words a block.
OPERATION i64 op_philox(i64 number, i64 seed) {
  const u64 block = (u64)number >> 2;
  unsigned word[4] = {(unsigned)block, (unsigned)(block >> 32), 0, 0};
  unsigned low = (unsigned)(u64)seed;
  unsigned high = (unsigned)((u64)seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 first = (u64)0xD2511F53u * word[0];
    const u64 second = (u64)0xCD9E8D57u * word[2];
    const unsigned next[4] = {(unsigned)(second >> 32) ^ word[1] ^ low, (unsigned)second,
                              (unsigned)(first >> 32) ^ word[3] ^ high, (unsigned)first};
    for (int i = 0; i < 4; ++i)
      word[i] = next[i];
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  return (i64)word[number & 3];
}

OPERATION i64 op_fma(i64 a, i64 b, i64 c) { return op_add(op_multiply(a, b), c); }
OPERATION float op_fma(float a, float b, float c) { return ::fmaf(a, b, c); }
OPERATION double op_fma(double a, double b, double c) { return ::fma(a, b, c); }
template <class T>
OPERATION T op_select(bool condition, T a, T b) {
  return condition ? a : b;
}

// Conversions ---------------------------------------------------------------------------------

template <class T>
OPERATION bool to_boolean(T a) {
  return a != 0;
}
template <class T>
OPERATION i64 to_i64(T a) {  // for a boolean; for a real number see `to_integer`
  return (i64)a;
}
template <class T>
OPERATION float to_f32(T a) {
  return (float)a;
}
template <class T>
OPERATION double to_f64(T a) {
  return (double)a;
}

OPERATION float unsigned_to_f32(i64 a) { return (float)(u64)a; }
OPERATION double unsigned_to_f64(i64 a) { return (double)(u64)a; }

// Rounds to odd: sets the last bit if any bit is lost; a value too large for a float remains so.
OPERATION float rounded_to_odd(double a) {
#ifdef __CUDACC__
  const float toward_zero = __double2float_rz(a);
  const bool exact = (double)toward_zero == a || a != a || fabs(a) == (double)INFINITE;
  return exact ? toward_zero : __int_as_float(__float_as_int(toward_zero) | 1);
#else
  float nearest = (float)a;
  if ((double)nearest == a || a != a) return nearest;
  unsigned bits;
  __builtin_memcpy(&bits, &nearest, sizeof bits);
  if (fabs((double)nearest) > fabs(a)) --bits;  // toward zero
  bits |= 1;
  __builtin_memcpy(&nearest, &bits, sizeof bits);
  return nearest;
#endif
}

// To an integer of so many bits, which may have a sign; NaN to 0.
template <class Real>
OPERATION i64 to_integer(Real a, int bits, bool is_signed) {
  if (a != a) return 0;
  const int magnitude = is_signed ? bits - 1 : bits;
  const Real above = (Real)(1ul << (magnitude - 1)) * 2;  // the first number that is too large
  if (a >= above) return (i64)(magnitude == 64 ? ~0ul : (1ul << magnitude) - 1);
  if (a <= (is_signed ? -above : (Real)0)) return is_signed ? (i64)(0 - (1ul << magnitude)) : 0;
  return magnitude == 64 ? (i64)(u64)a : (i64)a;
}

}  // namespace troupe::elementwise::operations
