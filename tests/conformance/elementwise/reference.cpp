#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace troupe::conformance::elementwise_reference {
namespace {

using elementwise::function;
using elementwise::instruction;
using elementwise::opcode;
using elementwise::opcode_family;

kind kind_of(dtype type) {
  if (type == dtype::boolean) return kind::boolean;
  if (is_integer(type)) return kind::integer;
  return type == dtype::f64 || type == dtype::c128 ? kind::twice : kind::single;
}

double rounded(kind what, long double x) {
  return what == kind::single ? static_cast<double>(static_cast<float>(x)) : static_cast<double>(x);
}
value real(kind what, long double x) { return {what, rounded(what, x), 0}; }
value integer(std::int64_t x) { return {kind::integer, 0, x}; }
value boolean(bool x) { return {kind::boolean, 0, x ? 1 : 0}; }

std::int64_t truncated(double x, double least, double beyond) {
  if (std::isnan(x)) return 0;
  if (x >= beyond) {
    return beyond == 0x1p64 ? -1
                            : static_cast<std::int64_t>(static_cast<std::uint64_t>(beyond) - 1);
  }
  if (x <= least) return least == 0 ? 0 : static_cast<std::int64_t>(least);
  return x >= 0x1p63 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(x))
                     : static_cast<std::int64_t>(x);
}
struct bounds {
  double least;
  double beyond;
};
bounds bounds_of(dtype type) {
  const int bits = static_cast<int>(8 * size_of(type));
  const bool is_signed =
      type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
  return {is_signed ? -std::ldexp(1.0, bits - 1) : 0, std::ldexp(1.0, is_signed ? bits - 1 : bits)};
}
std::int64_t wrapped(dtype type, std::int64_t x) {
  const auto bits = static_cast<unsigned>(8 * size_of(type));
  if (bits == 64) return x;
  const std::uint64_t low = static_cast<std::uint64_t>(x) & ((std::uint64_t{1} << bits) - 1);
  const bool negative = bounds_of(type).least < 0 && (low >> (bits - 1)) != 0;
  return static_cast<std::int64_t>(negative ? low | ~((std::uint64_t{1} << bits) - 1) : low);
}

value converted(kind to, const value& v) {
  switch (to) {
    case kind::boolean:
      return boolean(v.what <= kind::integer ? v.integer != 0 : v.real != 0);
    case kind::integer:
      return integer(v.what <= kind::integer ? v.integer : truncated(v.real, -0x1p63, 0x1p63));
    default:
      return v.what <= kind::integer ? real(to, static_cast<long double>(v.integer))
                                     : real(to, v.real);
  }
}

// To nearest even, in the type's grid.
double narrowed(dtype type, double x) {
  int digits = 0;
  int least = 0;
  double largest = 0;
  bool saturates = false;
  switch (type) {
    case dtype::f16:
      digits = 11, least = -24, largest = 65504;
      break;
    case dtype::bf16:
      digits = 8, least = -133, largest = 0x1.FEp127;
      break;
    case dtype::e4m3:
      digits = 4, least = -9, largest = 448, saturates = true;
      break;
    case dtype::e5m2:
      digits = 3, least = -16, largest = 57344, saturates = true;
      break;
    case dtype::f32:
    case dtype::c64:
      return static_cast<double>(static_cast<float>(x));
    default:
      return x;
  }
  if (x == 0 || std::isnan(x)) return x;
  if (std::isinf(x)) return saturates ? std::copysign(largest, x) : x;
  const int exponent = std::max(std::ilogb(x) - digits + 1, least);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
  if (std::abs(nearest) <= largest) return std::copysign(nearest, x);
  return std::copysign(saturates ? largest : std::numeric_limits<double>::infinity(), x);
}

// Quotient and remainder in `T`, as every step is rounded. Source: NumPy's npy_divmod.
template <class T>
std::pair<double, double> divided_in(double of_a, double of_b) {
  const T a = static_cast<T>(of_a);
  const T b = static_cast<T>(of_b);
  T r = std::fmod(a, b);
  if (b == 0) return {a / b, r};
  T q = (a - r) / b;
  if (r == 0) {
    r = std::copysign(T{0}, b);
  } else if ((b < 0) != (r < 0)) {
    r += b;
    q -= 1;
  }
  if (q == 0) return {std::copysign(T{0}, a / b), r};
  const T down = std::floor(q);
  return {q - down > T{0.5} ? down + 1 : down, r};
}
std::pair<double, double> divided(kind what, double a, double b) {
  return what == kind::single ? divided_in<float>(a, b) : divided_in<double>(a, b);
}
double least_of(double a, double b) { return a < b || (a == b && std::signbit(a)) ? a : b; }
double most_of(double a, double b) { return a > b || (a == b && std::signbit(b)) ? a : b; }

std::int64_t of_integers(opcode op, std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto wide = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const auto narrow = [](std::uint64_t x) { return static_cast<std::int64_t>(x); };
  switch (op) {
    case opcode::negative:
      return narrow(0 - wide(a));
    case opcode::absolute:
      return a < 0 ? narrow(0 - wide(a)) : a;
    case opcode::sign:
      return a > 0 ? 1 : a < 0 ? -1 : 0;
    case opcode::bit_not:
      return ~a;
    case opcode::add:
      return narrow(wide(a) + wide(b));
    case opcode::subtract:
      return narrow(wide(a) - wide(b));
    case opcode::multiply:
      return narrow(wide(a) * wide(b));
    case opcode::quotient:
      if (b == 0) return 0;
      if (b == -1) return narrow(0 - wide(a));
      return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    case opcode::remainder:
      if (b == 0 || b == -1) return 0;
      return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    case opcode::minimum:
    case opcode::fmin:
      return std::min(a, b);
    case opcode::maximum:
    case opcode::fmax:
      return std::max(a, b);
    case opcode::bit_and:
      return a & b;
    case opcode::bit_or:
      return a | b;
    case opcode::bit_xor:
      return a ^ b;
    case opcode::shift_left:
      return b < 0 || b > 63 ? 0 : narrow(wide(a) << b);
    case opcode::shift_right:
      return a >> (b < 0 || b > 63 ? 63 : b);
    default:
      return narrow(wide(a) * wide(b) + wide(c));  // fma
  }
}

long double of_reals(opcode op, kind what, long double a, long double b, long double c) {
  const auto da = static_cast<double>(a);
  const auto db = static_cast<double>(b);
  const bool single = what == kind::single;
  switch (op) {
    case opcode::negative:
      return -a;
    case opcode::absolute:
      return std::fabs(a);
    case opcode::sign:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case opcode::ceil:
      return std::ceil(a);
    case opcode::floor:
      return std::floor(a);
    case opcode::trunc:
      return std::trunc(a);
    case opcode::round:
      return std::nearbyint(a);
    case opcode::sqrt:
      return std::sqrt(da);
    case opcode::rsqrt:
      return 1 / std::sqrt(a);
    case opcode::cbrt:
      return std::cbrt(a);
    case opcode::exp:
      return std::exp(a);
    case opcode::exp2:
      return std::exp2(a);
    case opcode::expm1:
      return std::expm1(a);
    case opcode::log:
      return std::log(a);
    case opcode::log2:
      return std::log2(a);
    case opcode::log10:
      return std::log10(a);
    case opcode::log1p:
      return std::log1p(a);
    case opcode::sin:
      return std::sin(a);
    case opcode::cos:
      return std::cos(a);
    case opcode::tan:
      return std::tan(a);
    case opcode::asin:
      return std::asin(a);
    case opcode::acos:
      return std::acos(a);
    case opcode::atan:
      return std::atan(a);
    case opcode::sinh:
      return std::sinh(a);
    case opcode::cosh:
      return std::cosh(a);
    case opcode::tanh:
      return std::tanh(a);
    case opcode::asinh:
      return std::asinh(a);
    case opcode::acosh:
      return std::acosh(a);
    case opcode::atanh:
      return std::atanh(a);
    case opcode::erf:
      return std::erf(a);
    case opcode::erfc:
      return std::erfc(a);
    case opcode::lgamma:
      return std::lgamma(a);
    case opcode::tgamma:
      return std::tgamma(a);
    // In the type itself: rounding an 80-bit result again would not always give the nearest.
    case opcode::add:
      return da + db;
    case opcode::subtract:
      return da - db;
    case opcode::multiply:
      return da * db;
    case opcode::divide:
      return da / db;
    case opcode::quotient:
      return divided(what, da, db).first;
    case opcode::remainder:
      return divided(what, da, db).second;
    case opcode::power:
      return std::pow(a, b);
    case opcode::atan2:
      return std::atan2(a, b);
    case opcode::hypot:
      return std::hypot(a, b);
    case opcode::copysign:
      return std::copysign(a, b);
    case opcode::minimum:
      return std::isnan(da) ? da : std::isnan(db) ? db : least_of(da, db);
    case opcode::maximum:
      return std::isnan(da) ? da : std::isnan(db) ? db : most_of(da, db);
    case opcode::fmin:
      return std::isnan(db) ? da : std::isnan(da) ? db : least_of(da, db);
    case opcode::fmax:
      return std::isnan(db) ? da : std::isnan(da) ? db : most_of(da, db);
    default:  // fma
      return single ? static_cast<long double>(std::fma(
                          static_cast<float>(da), static_cast<float>(db), static_cast<float>(c)))
                    : static_cast<long double>(std::fma(da, db, static_cast<double>(c)));
  }
}

}  // namespace

// Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011.
std::int64_t philox(std::int64_t number, std::int64_t seed) {
  const std::uint64_t block = static_cast<std::uint64_t>(number) / 4;
  std::uint32_t c[4] = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                        0, 0};
  std::uint32_t k[2] = {static_cast<std::uint32_t>(seed),
                        static_cast<std::uint32_t>(static_cast<std::uint64_t>(seed) >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    const std::uint32_t next[4] = {
        static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c[static_cast<std::uint64_t>(number) % 4];
}

namespace {

bool compared(opcode op, const value& a, const value& b) {
  const auto by = [&](auto x, auto y) {
    switch (op) {
      case opcode::equal:
        return x == y;
      case opcode::not_equal:
        return x != y;
      case opcode::less:
        return x < y;
      default:
        return x <= y;
    }
  };
  return a.what == kind::integer ? by(a.integer, b.integer) : by(a.real, b.real);
}

/// The values of one instruction for all elements of a row.
class evaluation {
 public:
  evaluation(const function& f, std::span<const dtype> inputs, std::span<const element> row)
      : f_(f), inputs_(inputs), row_(row), values_(f.size(), std::vector<value>(row.size())) {
    for (const dtype one : inputs)
      widest_ = std::max(widest_, kind_of(one));
  }

  void step(std::size_t i);
  [[nodiscard]] const value& at(std::uint16_t n, std::size_t e) const { return values_[n][e]; }

  /// A constant takes the type it is wanted in, whatever it was rounded to before.
  [[nodiscard]] value as(kind wanted, std::uint16_t n, std::size_t e) const {
    const instruction one = f_.at(n);
    if (one.op != opcode::constant) return converted(wanted, values_[n][e]);
    const scalar& c = f_.constants()[one.a];
    if (wanted == kind::integer) return integer(c.as<std::int64_t>());
    if (wanted == kind::boolean) return boolean(c.as<double>() != 0);
    return real(wanted, c.as<double>());
  }

 private:
  [[nodiscard]] kind common(std::initializer_list<std::uint16_t> operands) const {
    kind most = kind::boolean;
    kind of_constants = kind::boolean;
    for (const std::uint16_t n : operands) {
      const instruction one = f_.at(n);
      if (one.op == opcode::constant) {
        const bool is_real = f_.constants()[one.a].what() == scalar::kind::real;
        of_constants = std::max(of_constants, is_real ? kind::single : kind::integer);
      } else {
        most = std::max(most, kinds_[n]);
      }
    }
    if (of_constants == kind::single) return as_real(most);
    return std::max(most, of_constants);
  }
  /// A value made only of constants, conditions or integers is as wide as the widest real input.
  [[nodiscard]] kind as_real(kind what) const { return what <= kind::integer ? widest_ : what; }
  void row_operation(const instruction& one, std::vector<value>& made);

  const function& f_;
  std::span<const dtype> inputs_;
  std::span<const element> row_;
  std::vector<std::vector<value>> values_;  // by instruction
  std::vector<kind> kinds_;
  kind widest_ = kind::single;
};

void evaluation::row_operation(const instruction& one, std::vector<value>& made) {
  const kind what = std::max(common({one.a}), kind::integer);
  const bool is_integer = what == kind::integer;
  long double sum = 0;
  long double product = 1;
  std::int64_t integer_sum = 0;
  std::int64_t integer_product = 1;
  std::int64_t least = -1;
  std::int64_t most = -1;
  std::vector<value> all;
  for (std::size_t e = 0; e < row_.size(); ++e)
    all.push_back(as(what, one.a, e));
  const auto before = [&](const value& x, const value& y) {  // x is less
    return is_integer ? x.integer < y.integer
                      : x.real < y.real ||
                            (x.real == y.real && std::signbit(x.real) && !std::signbit(y.real));
  };
  const auto is_nan = [&](const value& x) { return !is_integer && std::isnan(x.real); };
  for (std::size_t e = 0; e < all.size(); ++e) {
    sum += static_cast<long double>(all[e].real);
    product *= static_cast<long double>(all[e].real);
    integer_sum = of_integers(opcode::add, integer_sum, all[e].integer, 0);
    integer_product = of_integers(opcode::multiply, integer_product, all[e].integer, 0);
    const bool signs = one.op == opcode::row_minimum || one.op == opcode::row_maximum;
    const auto better = [&](const value& x, const value& y) {
      if (!signs) return is_integer ? x.integer < y.integer : x.real < y.real;
      return before(x, y);
    };
    const auto place = static_cast<std::int64_t>(e);
    const auto taken = [&](std::int64_t best, auto wins) {
      if (best < 0) return true;
      const value& now = all[static_cast<std::size_t>(best)];
      return !is_nan(now) && (is_nan(all[e]) || wins(all[e], now));
    };
    if (taken(least, [&](const value& x, const value& y) { return better(x, y); })) least = place;
    if (taken(most, [&](const value& x, const value& y) { return better(y, x); })) most = place;
  }
  value found;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  switch (one.op) {
    case opcode::row_sum:
      found = is_integer ? integer(integer_sum) : real(what, sum);
      break;
    case opcode::row_product:
      found = is_integer ? integer(integer_product) : real(what, product);
      break;
    case opcode::row_minimum:
      found = least >= 0   ? all[static_cast<std::size_t>(least)]
              : is_integer ? integer(std::numeric_limits<std::int64_t>::max())
                           : real(what, infinite);
      break;
    case opcode::row_maximum:
      found = most >= 0    ? all[static_cast<std::size_t>(most)]
              : is_integer ? integer(std::numeric_limits<std::int64_t>::min())
                           : real(what, -infinite);
      break;
    case opcode::row_argmin:
      found = integer(least);
      break;
    default:
      found = integer(most);
      break;
  }
  std::ranges::fill(made, found);
}

void evaluation::step(std::size_t i) {
  const instruction one = f_.at(i);
  const auto traits = elementwise::traits_of(one.op);
  std::vector<value>& made = values_[i];
  kinds_.push_back(kind::integer);
  if (elementwise::is_row(one.op)) {
    row_operation(one, made);
    if (traits.family == opcode_family::row) kinds_[i] = std::max(common({one.a}), kind::integer);
    return;
  }
  kind what = kind::boolean;
  if (traits.operands == 1) what = common({one.a});
  if (traits.operands == 2) what = common({one.a, one.b});
  if (traits.operands == 3) what = common({one.a, one.b, one.c});
  if (one.op == opcode::select) what = common({one.b, one.c});
  if (traits.family == opcode_family::any || traits.family == opcode_family::comparison ||
      traits.family == opcode_family::integer)
    what = std::max(what, kind::integer);
  if (traits.family == opcode_family::real || traits.family == opcode_family::predicate)
    what = as_real(what);
  for (std::size_t e = 0; e < row_.size(); ++e) {
    const auto operand = [&](std::uint16_t n, int k) {
      return k < traits.operands ? as(what, n, e) : value();
    };
    const value a = one.op == opcode::select ? as(kind::boolean, one.a, e) : operand(one.a, 0);
    const value b = operand(one.b, 1);
    const value c = operand(one.c, 2);
    switch (traits.family) {
      case opcode_family::source:
        if (one.op == opcode::input) {
          const number x = row_[e].inputs[one.a];
          const kind of = kind_of(inputs_[one.a]);
          const double part = one.b == elementwise::input_imaginary ? x.imag() : x.real();
          made[e] = of == kind::boolean   ? boolean(part != 0)
                    : of == kind::integer ? integer(static_cast<std::int64_t>(part))
                                          : real(of, part);
        } else if (one.op == opcode::index) {
          made[e] = integer(row_[e].indices[row_[e].indices.size() - 1 - one.a]);
        } else if (one.op == opcode::position) {
          made[e] = integer(row_[e].position);
        } else {
          made[e] = integer(static_cast<std::int64_t>(row_.size()));
        }
        break;
      case opcode_family::any:
      case opcode_family::real:
        made[e] = what == kind::integer
                      ? integer(of_integers(one.op, a.integer, b.integer, c.integer))
                      : real(what, of_reals(one.op, what, a.real, b.real, c.real));
        break;
      case opcode_family::predicate:
        made[e] = boolean(one.op == opcode::is_nan ? std::isnan(a.real) : std::isinf(a.real));
        break;
      case opcode_family::comparison:
        made[e] = boolean(compared(one.op, a, b));
        break;
      case opcode_family::bits:
      case opcode_family::integer:
        if (one.op == opcode::philox) {
          made[e] = integer(philox(a.integer, b.integer));
        } else {
          made[e] = {what, 0, of_integers(one.op, a.integer, b.integer, 0)};
          if (what == kind::boolean) made[e].integer &= 1;
        }
        break;
      case opcode_family::cast: {
        const auto type = static_cast<dtype>(one.b);
        const instruction from = f_.at(one.a);
        const value v =
            from.op == opcode::constant
                ? as(f_.constants()[from.a].what() == scalar::kind::real ? kind::twice
                                                                         : kind::integer,
                     one.a, e)
                : values_[one.a][e];
        made[e].what = kind_of(type);
        const double x = stored(type, v);
        if (made[e].what <= kind::integer) {
          made[e].integer = static_cast<std::int64_t>(x);
        } else {
          made[e].real = x;
        }
        break;
      }
      case opcode_family::select:
        made[e] = a.integer != 0 ? b : c;
        break;
      default:
        break;
    }
    if (traits.family != opcode_family::output) kinds_[i] = made[e].what;
  }
  if (row_.empty()) kinds_[i] = what;
}

}  // namespace

double stored(dtype type, const value& v) {
  if (type == dtype::boolean) return v.number() != 0 ? 1 : 0;
  if (is_integer(type)) {
    const std::int64_t x = v.what <= kind::integer
                               ? wrapped(type, v.integer)
                               : truncated(v.real, bounds_of(type).least, bounds_of(type).beyond);
    return type == dtype::u64 ? static_cast<double>(static_cast<std::uint64_t>(x))
                              : static_cast<double>(x);
  }
  const kind what = kind_of(type);
  return narrowed(
      type, what == kind::twice || v.what == kind::twice ? v.number() : converted(what, v).real);
}

outcome run(const function& f, std::span<const dtype> inputs, std::span<const dtype> outputs,
            std::span<const element> row) {
  evaluation all(f, inputs, row);
  outcome made{std::vector(row.size(), std::vector<value>(outputs.size())),
               std::vector(row.size(), std::vector<value>(outputs.size()))};
  for (std::size_t i = 0; i < f.size(); ++i) {
    all.step(i);
    const instruction one = f.at(i);
    if (one.op != opcode::output) continue;
    const bool constant = f.at(one.a).op == opcode::constant;
    for (std::size_t e = 0; e < row.size(); ++e) {
      const bool integral = constant && f.constants()[f.at(one.a).a].what() != scalar::kind::real;
      (one.c == 0 ? made.real : made.imaginary)[e][one.b] =
          constant ? all.as(integral ? kind::integer : kind::twice, one.a, e) : all.at(one.a, e);
    }
  }
  return made;
}

}  // namespace troupe::conformance::elementwise_reference
