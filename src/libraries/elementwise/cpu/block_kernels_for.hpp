#pragma once

// Included once for each kind of processor, with KERNELS defined as the name of the table: the
// loops are compiled with that processor's instructions, and have internal linkage.

#include "libraries/elementwise/cpu/block_kernels.hpp"
#include "libraries/elementwise/cpu/real_functions.hpp"
#include "libraries/elementwise/shared/operations.hpp"

#include <troupe/tensor/small_floats.hpp>

namespace troupe::cpu {
namespace {

using elementwise::number;
using elementwise::opcode;
using elementwise::typed_instruction;
namespace operations = elementwise::operations;

template <class T>
T* as(std::byte* p) {
  return reinterpret_cast<T*>(p);
}
template <class T>
const T* as(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}

// Operations ----------------------------------------------------------------------------------

template <class Op, class A>
void of_one(std::byte* y, const std::byte* a, const std::byte*, const std::byte*, std::size_t n) {
  using result = decltype(Op()(A()));
  for (std::size_t i = 0; i < n; ++i)
    as<result>(y)[i] = Op()(as<A>(a)[i]);
}
template <class Op, class A>
void of_two(std::byte* y, const std::byte* a, const std::byte* b, const std::byte*, std::size_t n) {
  using result = decltype(Op()(A(), A()));
  for (std::size_t i = 0; i < n; ++i)
    as<result>(y)[i] = Op()(as<A>(a)[i], as<A>(b)[i]);
}
template <class Op, class A>
void of_three(std::byte* y, const std::byte* a, const std::byte* b, const std::byte* c,
              std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    as<A>(y)[i] = Op()(as<A>(a)[i], as<A>(b)[i], as<A>(c)[i]);
}
// By bits: a branch for each element would be mispredicted half of the time.
template <class Bits>
void select(std::byte* y, const std::byte* a, const std::byte* b, const std::byte* c,
            std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto mask = static_cast<Bits>(Bits{0} - Bits{as<std::uint8_t>(a)[i] != 0});
    as<Bits>(y)[i] = static_cast<Bits>((as<Bits>(b)[i] & mask) | (as<Bits>(c)[i] & ~mask));
  }
}

template <class Op>
block_kernel real_one(number type) {
  return type == number::f64 ? of_one<Op, double> : of_one<Op, float>;
}
template <class Op>
block_kernel any_one(number type) {
  return type == number::i64 ? of_one<Op, std::int64_t> : real_one<Op>(type);
}
template <class Op>
block_kernel real_two(number type) {
  return type == number::f64 ? of_two<Op, double> : of_two<Op, float>;
}
template <class Op>
block_kernel any_two(number type) {
  return type == number::i64 ? of_two<Op, std::int64_t> : real_two<Op>(type);
}
template <class Op>
block_kernel bits_one(number type) {
  return type == number::i64 ? of_one<Op, std::int64_t> : of_one<Op, bool>;
}
template <class Op>
block_kernel bits_two(number type) {
  return type == number::i64 ? of_two<Op, std::int64_t> : of_two<Op, bool>;
}

#define KERNEL(family, name, function, ...)                       \
  case opcode::name: {                                            \
    constexpr auto op = [](auto... x) { return function(x...); }; \
    return family<decltype(op)>(type);                            \
  }

block_kernel conversion(const typed_instruction& one) {
  const auto from = [&]<class Op>(Op) -> block_kernel {
    switch (one.type) {
      case number::boolean:
        return of_one<Op, bool>;
      case number::i64:
        return of_one<Op, std::int64_t>;
      case number::f32:
        return of_one<Op, float>;
      case number::f64:
        return of_one<Op, double>;
    }
    return nullptr;
  };
  switch (one.result) {
    case number::boolean:
      return from([](auto a) { return operations::to_boolean(a); });
    case number::i64:
      return from([](auto a) { return operations::to_i64(a); });
    case number::f32:
      return from([](auto a) { return operations::to_f32(a); });
    case number::f64:
      return from([](auto a) { return operations::to_f64(a); });
  }
  return nullptr;
}

// To the bounds of an integer type.
template <class T>
block_kernel integer_of(number type) {
  constexpr auto op = [](auto a) -> std::int64_t {
    return operations::to_integer(a, 8 * int{sizeof(T)}, T(-1) < T(0));
  };
  return type == number::f64 ? of_one<decltype(op), double> : of_one<decltype(op), float>;
}
// Integers wrap around, and the rest is rounded: through the element type and back.
template <class T, class Number>
void through(std::byte* y, const std::byte* a, const std::byte*, const std::byte*, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    as<Number>(y)[i] = number_from<Number>(element_of<T>(as<Number>(a)[i]));
}

template <class F>
auto with_integer_type(dtype type, F&& f) {
  switch (type) {
    case dtype::i8:
      return f(std::int8_t());
    case dtype::u8:
      return f(std::uint8_t());
    case dtype::i16:
      return f(std::int16_t());
    case dtype::u16:
      return f(std::uint16_t());
    case dtype::i32:
      return f(std::int32_t());
    case dtype::u32:
      return f(std::uint32_t());
    case dtype::u64:
      return f(std::uint64_t());
    default:
      return f(std::int64_t());
  }
}

block_kernel cast_kernel(dtype type) {
  switch (type) {
    case dtype::f16:
      return through<f16, float>;
    case dtype::bf16:
      return through<bf16, float>;
    case dtype::e4m3:
      return through<e4m3, float>;
    case dtype::e5m2:
      return through<e5m2, float>;
    case dtype::f32:
      return through<float, float>;
    case dtype::f64:
      return through<double, double>;
    case dtype::boolean:
      return through<bool, bool>;
    default:
      return with_integer_type(type,
                               []<class T>(T) -> block_kernel { return through<T, std::int64_t>; });
  }
}

block_kernel unsigned_kernel(const typed_instruction& one) {
  const auto of = []<class Op>(Op) -> block_kernel {
    if constexpr (std::is_invocable_v<Op, std::int64_t>)
      return of_one<Op, std::int64_t>;
    else
      return of_two<Op, std::int64_t>;
  };
  using namespace operations;
  if (one.op == elementwise::unsigned_quotient)
    return of([](i64 a, i64 b) { return op_unsigned_quotient(a, b); });
  if (one.op == elementwise::unsigned_remainder)
    return of([](i64 a, i64 b) { return op_unsigned_remainder(a, b); });
  if (one.op == elementwise::unsigned_shift_right)
    return of([](i64 a, i64 b) { return op_unsigned_shift_right(a, b); });
  if (one.result == number::f64) return of([](i64 a) { return unsigned_to_f64(a); });
  return of([](i64 a) { return unsigned_to_f32(a); });
}

block_kernel compute(const typed_instruction& one) {
  const number type = one.type;
  if (one.op == elementwise::convert) return conversion(one);
  if (one.op == elementwise::round_to_odd) {
    constexpr auto op = [](double a) { return operations::rounded_to_odd(a); };
    return of_one<decltype(op), double>;
  }
  if (one.op == elementwise::to_integer) {
    return with_integer_type(static_cast<dtype>(one.b),
                             [&]<class T>(T) { return integer_of<T>(type); });
  }
  if (one.op >= elementwise::unsigned_to_real) return unsigned_kernel(one);
  switch (one.op) {
    KERNEL(any_one, negative, operations::op_negative)
    KERNEL(any_one, absolute, operations::op_abs)
    KERNEL(any_one, sign, operations::op_sign)
    KERNEL(bits_one, bit_not, operations::op_bit_not)
    KERNEL(real_one, ceil, operations::op_ceil)
    KERNEL(real_one, floor, operations::op_floor)
    KERNEL(real_one, trunc, operations::op_trunc)
    KERNEL(real_one, round, operations::op_round)
    KERNEL(real_one, sqrt, operations::op_sqrt)
    KERNEL(real_one, rsqrt, operations::op_rsqrt)
    KERNEL(real_one, cbrt, operations::op_cbrt)
    KERNEL(real_one, exp, vector_exp)
    KERNEL(real_one, exp2, operations::op_exp2)
    KERNEL(real_one, expm1, operations::op_expm1)
    KERNEL(real_one, log, vector_log)
    KERNEL(real_one, log2, operations::op_log2)
    KERNEL(real_one, log10, operations::op_log10)
    KERNEL(real_one, log1p, operations::op_log1p)
    KERNEL(real_one, sin, operations::op_sin)
    KERNEL(real_one, cos, operations::op_cos)
    KERNEL(real_one, tan, operations::op_tan)
    KERNEL(real_one, asin, operations::op_asin)
    KERNEL(real_one, acos, operations::op_acos)
    KERNEL(real_one, atan, operations::op_atan)
    KERNEL(real_one, sinh, operations::op_sinh)
    KERNEL(real_one, cosh, operations::op_cosh)
    KERNEL(real_one, tanh, vector_tanh)
    KERNEL(real_one, asinh, operations::op_asinh)
    KERNEL(real_one, acosh, operations::op_acosh)
    KERNEL(real_one, atanh, operations::op_atanh)
    KERNEL(real_one, erf, operations::op_erf)
    KERNEL(real_one, erfc, vector_erfc)
    KERNEL(real_one, lgamma, operations::op_lgamma)
    KERNEL(real_one, tgamma, operations::op_tgamma)
    KERNEL(real_one, is_nan, operations::op_is_nan)
    KERNEL(real_one, is_infinite, operations::op_is_infinite)
    KERNEL(any_two, add, operations::op_add)
    KERNEL(any_two, subtract, operations::op_subtract)
    KERNEL(any_two, multiply, operations::op_multiply)
    KERNEL(real_two, divide, operations::op_divide)
    KERNEL(any_two, quotient, operations::op_quotient)
    KERNEL(any_two, remainder, operations::op_remainder)
    KERNEL(real_two, power, operations::op_power)
    KERNEL(real_two, atan2, operations::op_atan2)
    KERNEL(real_two, hypot, operations::op_hypot)
    KERNEL(real_two, copysign, operations::op_copysign)
    KERNEL(any_two, minimum, operations::op_minimum)
    KERNEL(any_two, maximum, operations::op_maximum)
    KERNEL(any_two, fmin, operations::op_fmin)
    KERNEL(any_two, fmax, operations::op_fmax)
    KERNEL(any_two, equal, operations::op_equal)
    KERNEL(any_two, not_equal, operations::op_not_equal)
    KERNEL(any_two, less, operations::op_less)
    KERNEL(any_two, less_equal, operations::op_less_equal)
    KERNEL(bits_two, bit_and, operations::op_bit_and)
    KERNEL(bits_two, bit_or, operations::op_bit_or)
    KERNEL(bits_two, bit_xor, operations::op_bit_xor)
    KERNEL(bits_two, shift_left, operations::op_shift_left)
    KERNEL(bits_two, shift_right, operations::op_shift_right)
    KERNEL(bits_two, philox, operations::op_philox)
    case opcode::fma: {
      constexpr auto op = [](auto a, auto b, auto c) { return operations::op_fma(a, b, c); };
      if (type == number::i64) return of_three<decltype(op), std::int64_t>;
      return type == number::f64 ? of_three<decltype(op), double> : of_three<decltype(op), float>;
    }
    case opcode::select:
      if (type == number::boolean) return select<std::uint8_t>;
      return type == number::f32 ? select<std::uint32_t> : select<std::uint64_t>;
    case opcode::cast:
      return cast_kernel(static_cast<dtype>(one.b));
    default:
      return nullptr;
  }
}
#undef KERNEL

// Memory --------------------------------------------------------------------------------------

template <class T, class Number>
void load_elements(std::byte* y, const std::byte* memory, std::int64_t stride, std::size_t n) {
  if (stride == 1) {
    for (std::size_t i = 0; i < n; ++i)
      as<Number>(y)[i] = number_from<Number>(as<T>(memory)[i]);
    return;
  }
  const T* from = as<T>(memory);
  for (std::size_t i = 0; i < n; ++i, from += stride)
    as<Number>(y)[i] = number_from<Number>(*from);
}
template <class T, class Number>
void store_elements(std::byte* memory, std::int64_t stride, const std::byte* a, std::size_t n) {
  if (stride == 1) {
    for (std::size_t i = 0; i < n; ++i)
      as<T>(memory)[i] = element_of<T>(as<Number>(a)[i]);
    return;
  }
  T* to = as<T>(memory);
  for (std::size_t i = 0; i < n; ++i, to += stride)
    *to = element_of<T>(as<Number>(a)[i]);
}

template <class F>
auto with_element(dtype type, F&& f) {
  switch (type) {
    case dtype::f64:
    case dtype::c128:
      return f.template operator()<double, double>();
    case dtype::f32:
    case dtype::c64:
      return f.template operator()<float, float>();
    case dtype::f16:
      return f.template operator()<f16, float>();
    case dtype::bf16:
      return f.template operator()<bf16, float>();
    case dtype::e4m3:
      return f.template operator()<e4m3, float>();
    case dtype::e5m2:
      return f.template operator()<e5m2, float>();
    case dtype::boolean:
      return f.template operator()<bool, bool>();
    default:
      return with_integer_type(
          type, [&]<class T>(T) { return f.template operator()<T, std::int64_t>(); });
  }
}

load_kernel load(dtype type) {
  return with_element(
      type, []<class T, class Number>() -> load_kernel { return load_elements<T, Number>; });
}
store_kernel store(dtype type) {
  return with_element(
      type, []<class T, class Number>() -> store_kernel { return store_elements<T, Number>; });
}

// Rows ----------------------------------------------------------------------------------------

template <class T>
T& best_of(accumulator& s) {
  if constexpr (std::is_same_v<T, std::int64_t>) return s.integer;
  if constexpr (std::is_same_v<T, float>) return s.single;
  if constexpr (std::is_same_v<T, double>) return s.real;
}

// Sums `term` of each number: in several lanes, so that additions do not wait for each other.
template <class Term>
auto sum_of(const Term& term, std::size_t n) {
  constexpr std::size_t lanes = 16;
  using wide = decltype(term(0));
  wide partial[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k)
      partial[k] += term(i + k);
  }
  for (std::size_t k = 0; i < n; ++i, ++k)
    partial[k] += term(i);
  wide all = 0;
  for (const wide one : partial)
    all += one;
  return all;
}
// f32 in f64.
template <class T>
void sum(accumulator& s, const std::byte* a, std::int64_t, std::size_t n) {
  using wide = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, double>;
  const wide all = sum_of([=](std::size_t i) { return static_cast<wide>(as<T>(a)[i]); }, n);
  if constexpr (std::is_same_v<T, std::int64_t>) {
    s.integer = static_cast<std::int64_t>(static_cast<std::uint64_t>(s.integer) + all);
  } else {
    s.real += all;
  }
}
inline void sum_of_squares(accumulator& s, const std::byte* a, std::int64_t, std::size_t n) {
  s.real += sum_of(
      [=](std::size_t i) {
        const double x = as<float>(a)[i];
        return x * x;
      },
      n);
}
template <class T>
void product(accumulator& s, const std::byte* a, std::int64_t, std::size_t n) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    for (std::size_t i = 0; i < n; ++i)
      s.integer = operations::op_multiply(s.integer, as<T>(a)[i]);
  } else {
    for (std::size_t i = 0; i < n; ++i)
      s.real *= static_cast<double>(as<T>(a)[i]);
  }
}
template <class T, bool Least>
void extreme(accumulator& s, const std::byte* a, std::int64_t, std::size_t n) {
  constexpr std::size_t lanes = 16;
  const auto better = [](T x, T y) {
    return Least ? operations::op_minimum(x, y) : operations::op_maximum(x, y);
  };
  T best[lanes];
  for (T& one : best)
    one = best_of<T>(s);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k)
      best[k] = better(best[k], as<T>(a)[i + k]);
  }
  for (std::size_t k = 0; i < n; ++i, ++k)
    best[k] = better(best[k], as<T>(a)[i]);
  for (std::size_t k = 1; k < lanes; ++k)
    best[0] = better(best[0], best[k]);
  best_of<T>(s) = best[0];
}
template <class T, bool Least>
void place(accumulator& s, const std::byte* a, std::int64_t first, std::size_t n) {
  T& best = best_of<T>(s);
  for (std::size_t i = 0; i < n; ++i) {
    const T x = as<T>(a)[i];
    const bool nan = x != x && best == best;
    if (s.place < 0 || nan || (best == best && (Least ? x < best : x > best))) {
      best = x;
      s.place = first + static_cast<std::int64_t>(i);
    }
  }
}

row_kernel accumulate(const typed_instruction& one) {
  const auto of = [&]<class F>(F f) -> row_kernel {
    if (one.type == number::i64) return f(std::int64_t());
    return one.type == number::f64 ? f(double()) : f(float());
  };
  switch (one.op) {
    case opcode::row_sum:
      return of([]<class T>(T) -> row_kernel { return sum<T>; });
    case opcode::row_product:
      return of([]<class T>(T) -> row_kernel { return product<T>; });
    case opcode::row_minimum:
      return of([]<class T>(T) -> row_kernel { return extreme<T, true>; });
    case opcode::row_maximum:
      return of([]<class T>(T) -> row_kernel { return extreme<T, false>; });
    case opcode::row_argmin:
      return of([]<class T>(T) -> row_kernel { return place<T, true>; });
    default:
      return of([]<class T>(T) -> row_kernel { return place<T, false>; });
  }
}

}  // namespace

// NOLINTNEXTLINE(misc-definitions-in-headers): each includer names its own
const block_kernels KERNELS{.compute = compute,
                            .load = load,
                            .store = store,
                            .accumulate = accumulate,
                            .sum_of_squares = sum_of_squares};

}  // namespace troupe::cpu
