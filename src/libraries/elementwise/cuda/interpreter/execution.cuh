#pragma once

// Executes one computing instruction of the interpreter kernel.

#include "libraries/elementwise/cuda/device_code.cuh"
#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"

namespace troupe::cuda {
namespace {

using namespace elementwise::gpu;
using elementwise::number;
using elementwise::opcode;

/// The values of a thread: a column of shared memory.
struct slots {
  long* first;
  unsigned stride;
  const parameters* p;

  __device__ long bits(unsigned place) const {
    return place >= first_constant ? p->constants[place - first_constant] : first[place * stride];
  }
  template <class T>
  __device__ T get(unsigned place) const {
    return cell_as<T>(bits(place));
  }
  template <class T>
  __device__ void put(unsigned place, T x) const {
    put_cell(first + place * stride, x);
  }
};

// Calls the same functions as compiled code.
#define OF_ONE(name, real, integer)                                         \
  case opcode::name:                                                        \
    if (type == number::f32) return at.put(s.y, real(at.get<float>(s.a)));  \
    if (type == number::f64) return at.put(s.y, real(at.get<double>(s.a))); \
    integer(return at.put(s.y, real(at.get<i64>(s.a))));                    \
    return;
#define OF_TWO(name, real, integer)                                                              \
  case opcode::name:                                                                             \
    if (type == number::f32) return at.put(s.y, real(at.get<float>(s.a), at.get<float>(s.b)));   \
    if (type == number::f64) return at.put(s.y, real(at.get<double>(s.a), at.get<double>(s.b))); \
    integer(return at.put(s.y, real(at.get<i64>(s.a), at.get<i64>(s.b))));                       \
    return;
#define FAST(name, fast) \
  case opcode::name:     \
    return at.put(s.y, fast(at.get<float>(s.a)));
#define WITH(x) x
#define WITHOUT(x)
#define BITS(name, function)                                              \
  case opcode::name:                                                      \
    if (type == number::boolean)                                          \
      return at.put(s.y, function(at.get<bool>(s.a), at.get<bool>(s.b))); \
    return at.put(s.y, function(at.get<i64>(s.a), at.get<i64>(s.b)));

__device__ bool execute_fast(const interpreter_step& s, const slots& at) {
  switch (static_cast<opcode>(s.op)) {
    case opcode::divide:
      at.put(s.y, op_divide_fast(at.get<float>(s.a), at.get<float>(s.b)));
      return true;
    case opcode::exp:
      at.put(s.y, op_exp_fast(at.get<float>(s.a)));
      return true;
    case opcode::exp2:
      at.put(s.y, op_exp2_fast(at.get<float>(s.a)));
      return true;
    case opcode::rsqrt:
      at.put(s.y, op_rsqrt_fast(at.get<float>(s.a)));
      return true;
    case opcode::sqrt:
      at.put(s.y, op_sqrt_fast(at.get<float>(s.a)));
      return true;
    case opcode::tanh:
      at.put(s.y, op_tanh_fast(at.get<float>(s.a)));
      return true;
    default:
      return false;
  }
}

template <class From>
__device__ void convert_from(const interpreter_step& s, const slots& at) {
  const From x = at.get<From>(s.a);
  switch (static_cast<number>(s.result)) {
    case number::boolean:
      return at.put(s.y, to_boolean(x));
    case number::i64:
      return at.put(s.y, to_i64(x));
    case number::f32:
      return at.put(s.y, to_f32(x));
    case number::f64:
      return at.put(s.y, to_f64(x));
  }
}

template <class F>
__device__ void with_element(dtype type, F f) {
  switch (type) {
    case dtype::f64:
    case dtype::c128:
      return f(double());
    case dtype::f32:
    case dtype::c64:
      return f(float());
    case dtype::f16:
      return f(elementwise::gpu::f16());
    case dtype::bf16:
      return f(elementwise::gpu::bf16());
    case dtype::e4m3:
      return f(elementwise::gpu::e4m3());
    case dtype::e5m2:
      return f(elementwise::gpu::e5m2());
    case dtype::i8:
      return f((signed char)0);
    case dtype::u8:
      return f((unsigned char)0);
    case dtype::i16:
      return f(short());
    case dtype::u16:
      return f((unsigned short)0);
    case dtype::i32:
      return f(int());
    case dtype::u32:
      return f(0u);
    case dtype::i64:
      return f(0l);
    case dtype::u64:
      return f(0ul);
    case dtype::boolean:
      return f(false);
  }
}

__device__ int bits_of(dtype type) {
  return type == dtype::i8 || type == dtype::u8     ? 8
         : type == dtype::i16 || type == dtype::u16 ? 16
         : type == dtype::i32 || type == dtype::u32 ? 32
                                                    : 64;
}

__device__ void cast_to(const interpreter_step& s, const slots& at) {
  with_element(static_cast<dtype>(s.element), [&](auto one) {
    using T = decltype(one);
    using Number = decltype(loaded(one));
    at.put(s.y, loaded(stored<T>(at.get<Number>(s.a))));
  });
}

__device__ void execute_unsigned(const interpreter_step& s, const slots& at) {
  const i64 a = at.get<i64>(s.a);
  const auto op = static_cast<opcode>(s.op);
  if (op == elementwise::unsigned_to_real) {
    if (static_cast<number>(s.result) == number::f32) return at.put(s.y, unsigned_to_f32(a));
    return at.put(s.y, unsigned_to_f64(a));
  }
  const i64 b = at.get<i64>(s.b);
  if (op == elementwise::unsigned_quotient) return at.put(s.y, op_unsigned_quotient(a, b));
  if (op == elementwise::unsigned_remainder) return at.put(s.y, op_unsigned_remainder(a, b));
  at.put(s.y, op_unsigned_shift_right(a, b));
}

__device__ __noinline__ void execute(const interpreter_step& s, const slots& at) {
  const auto type = static_cast<number>(s.type);
  if (s.fast != 0 && execute_fast(s, at)) return;
  if (s.op == static_cast<unsigned char>(elementwise::convert)) {
    switch (type) {
      case number::boolean:
        return convert_from<bool>(s, at);
      case number::i64:
        return convert_from<i64>(s, at);
      case number::f32:
        return convert_from<float>(s, at);
      case number::f64:
        return convert_from<double>(s, at);
    }
  }
  if (s.op == static_cast<unsigned char>(elementwise::round_to_odd)) {
    return at.put(s.y, rounded_to_odd(at.get<double>(s.a)));
  }
  if (s.op == static_cast<unsigned char>(elementwise::to_integer)) {
    const auto to = static_cast<dtype>(s.element);
    const bool is_signed =
        to == dtype::i8 || to == dtype::i16 || to == dtype::i32 || to == dtype::i64;
    if (type == number::f64)
      return at.put(s.y, to_integer(at.get<double>(s.a), bits_of(to), is_signed));
    return at.put(s.y, to_integer(at.get<float>(s.a), bits_of(to), is_signed));
  }
  if (s.op >= static_cast<unsigned char>(elementwise::unsigned_to_real)) {
    return execute_unsigned(s, at);
  }
  switch (static_cast<opcode>(s.op)) {
    OF_ONE(negative, op_negative, WITH)
    OF_ONE(absolute, op_abs, WITH)
    OF_ONE(sign, op_sign, WITH)
    OF_ONE(ceil, op_ceil, WITHOUT)
    OF_ONE(floor, op_floor, WITHOUT)
    OF_ONE(trunc, op_trunc, WITHOUT)
    OF_ONE(round, op_round, WITHOUT)
    OF_ONE(sqrt, op_sqrt, WITHOUT)
    OF_ONE(rsqrt, op_rsqrt, WITHOUT)
    OF_ONE(cbrt, op_cbrt, WITHOUT)
    OF_ONE(exp, op_exp, WITHOUT)
    OF_ONE(exp2, op_exp2, WITHOUT)
    OF_ONE(expm1, op_expm1, WITHOUT)
    OF_ONE(log, op_log, WITHOUT)
    OF_ONE(log2, op_log2, WITHOUT)
    OF_ONE(log10, op_log10, WITHOUT)
    OF_ONE(log1p, op_log1p, WITHOUT)
    OF_ONE(sin, op_sin, WITHOUT)
    OF_ONE(cos, op_cos, WITHOUT)
    OF_ONE(tan, op_tan, WITHOUT)
    OF_ONE(asin, op_asin, WITHOUT)
    OF_ONE(acos, op_acos, WITHOUT)
    OF_ONE(atan, op_atan, WITHOUT)
    OF_ONE(sinh, op_sinh, WITHOUT)
    OF_ONE(cosh, op_cosh, WITHOUT)
    OF_ONE(tanh, op_tanh, WITHOUT)
    OF_ONE(asinh, op_asinh, WITHOUT)
    OF_ONE(acosh, op_acosh, WITHOUT)
    OF_ONE(atanh, op_atanh, WITHOUT)
    OF_ONE(erf, op_erf, WITHOUT)
    OF_ONE(erfc, op_erfc, WITHOUT)
    OF_ONE(lgamma, op_lgamma, WITHOUT)
    OF_ONE(tgamma, op_tgamma, WITHOUT)
    OF_ONE(is_nan, op_is_nan, WITHOUT)
    OF_ONE(is_infinite, op_is_infinite, WITHOUT)
    OF_TWO(add, op_add, WITH)
    OF_TWO(subtract, op_subtract, WITH)
    OF_TWO(multiply, op_multiply, WITH)
    OF_TWO(divide, op_divide, WITHOUT)
    OF_TWO(quotient, op_quotient, WITH)
    OF_TWO(remainder, op_remainder, WITH)
    OF_TWO(power, op_power, WITHOUT)
    OF_TWO(atan2, op_atan2, WITHOUT)
    OF_TWO(hypot, op_hypot, WITHOUT)
    OF_TWO(copysign, op_copysign, WITHOUT)
    OF_TWO(minimum, op_minimum, WITH)
    OF_TWO(maximum, op_maximum, WITH)
    OF_TWO(fmin, op_fmin, WITH)
    OF_TWO(fmax, op_fmax, WITH)
    OF_TWO(equal, op_equal, WITH)
    OF_TWO(not_equal, op_not_equal, WITH)
    OF_TWO(less, op_less, WITH)
    OF_TWO(less_equal, op_less_equal, WITH)
    BITS(bit_and, op_bit_and)
    BITS(bit_or, op_bit_or)
    BITS(bit_xor, op_bit_xor)
    case opcode::bit_not:
      if (type == number::boolean) return at.put(s.y, op_bit_not(at.get<bool>(s.a)));
      return at.put(s.y, op_bit_not(at.get<i64>(s.a)));
    case opcode::shift_left:
      return at.put(s.y, op_shift_left(at.get<i64>(s.a), at.get<i64>(s.b)));
    case opcode::shift_right:
      return at.put(s.y, op_shift_right(at.get<i64>(s.a), at.get<i64>(s.b)));
    case opcode::philox:
      return at.put(s.y, op_philox(at.get<i64>(s.a), at.get<i64>(s.b)));
    case opcode::fma:
      if (type == number::f32)
        return at.put(s.y, op_fma(at.get<float>(s.a), at.get<float>(s.b), at.get<float>(s.c)));
      if (type == number::f64)
        return at.put(s.y, op_fma(at.get<double>(s.a), at.get<double>(s.b), at.get<double>(s.c)));
      return at.put(s.y, op_fma(at.get<i64>(s.a), at.get<i64>(s.b), at.get<i64>(s.c)));
    case opcode::select:
      at.first[s.y * at.stride] = at.get<bool>(s.a) ? at.bits(s.b) : at.bits(s.c);
      return;
    case opcode::cast:
      return cast_to(s, at);
    default:
      return;
  }
}

}  // namespace
}  // namespace troupe::cuda
