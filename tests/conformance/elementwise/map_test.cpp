#include "programs.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe::conformance {
namespace {

using elementwise::function;
using elementwise::opcode;
using elementwise::opcode_family;
using elementwise::traits_of;
using elementwise::value;
using namespace elementwise_reference;

std::vector<number> values_for(opcode op, int operand, std::int64_t n, std::mt19937_64& random) {
  double least = -3;
  double most = 3;
  switch (op) {
    case opcode::exp:
    case opcode::exp2:
    case opcode::expm1:
    case opcode::sinh:
    case opcode::cosh:
      least = -100, most = 90;
      break;
    case opcode::sin:
    case opcode::cos:
    case opcode::tan:
      least = -1000, most = 1000;
      break;
    case opcode::asin:
    case opcode::acos:
    case opcode::atanh:
      least = -1, most = 1;
      break;
    case opcode::log:
    case opcode::log2:
    case opcode::log10:
    case opcode::sqrt:
    case opcode::rsqrt:
      least = 0, most = 1000;
      break;
    case opcode::log1p:
      least = -1, most = 1000;
      break;
    case opcode::lgamma:
    case opcode::tgamma:
      least = 0.1, most = 30;
      break;
    case opcode::acosh:
      least = 1, most = 1000;
      break;
    case opcode::power:
      least = operand == 0 ? 0 : -5, most = operand == 0 ? 10 : 5;
      break;
    default:
      break;
  }
  std::vector<number> all;
  for (std::int64_t i = 0; i < n; ++i)
    all.emplace_back(std::uniform_real_distribution<double>(least, most)(random));
  const double special[] = {0.0, -0.0,     1,         -1,  0.5,   -0.5,
                            2.5, infinity, -infinity, nan, 1e-30, -1e-30};
  const std::size_t step = operand == 0 ? 1 : 5;
  for (std::size_t i = 0; i < 144 && i < all.size(); ++i)
    all[i] = special[(operand == 0 ? i % 12 : i / 12 * step % 12)];
  return all;
}

TEST(ElementwiseOperations, AreWithinTheirBounds) {
  for (int o = 0; o < elementwise::opcode_count; ++o) {
    const auto op = static_cast<opcode>(o);
    const auto traits = traits_of(op);
    const bool real = traits.family == opcode_family::any || traits.family == opcode_family::real ||
                      traits.family == opcode_family::predicate ||
                      traits.family == opcode_family::comparison;
    if (!real) continue;
    for (const dtype type : {dtype::f32, dtype::f64}) {
      scene s;
      s.name(std::string(traits.name) + " of " + std::string(to_string(type)));
      const auto f = function::of(traits.operands, [&](std::span<const value> x) {
        if (traits.operands == 1) return elementwise::apply(op, x[0]);
        if (traits.operands == 2) return elementwise::apply(op, x[0], x[1]);
        return elementwise::apply(op, x[0], x[1], x[2]);
      });
      constexpr std::int64_t n = 3001;
      std::vector<test_tensor*> inputs;
      for (int k = 0; k < traits.operands; ++k) {
        inputs.push_back(&s.vector(type, n));
        s.fill(*inputs.back(), values_for(op, k, n, s.generator()));
      }
      auto& y = s.vector(type, n);
      check(s, f, inputs, {&y}, bound_ulps(op, type == dtype::f32 ? kind::single : kind::twice));
    }
  }
}

TEST(ElementwiseOperations, OfIntegersWrapAndRoundDown) {
  for (int o = 0; o < elementwise::opcode_count; ++o) {
    const auto op = static_cast<opcode>(o);
    const auto traits = traits_of(op);
    const bool integral =
        traits.family == opcode_family::any || traits.family == opcode_family::comparison ||
        traits.family == opcode_family::bits || traits.family == opcode_family::integer;
    if (!integral) continue;
    for (const dtype type : {dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::i32, dtype::u32,
                             dtype::i64, dtype::u64}) {
      scene s;
      s.name(std::string(traits.name) + " of " + std::string(to_string(type)));
      const auto f = function::of(traits.operands, [&](std::span<const value> x) {
        if (traits.operands == 1) return elementwise::apply(op, x[0]);
        if (traits.operands == 2) return elementwise::apply(op, x[0], x[1]);
        return elementwise::apply(op, x[0], x[1], x[2]);
      });
      std::vector<test_tensor*> inputs;
      for (int k = 0; k < traits.operands; ++k) {
        inputs.push_back(&s.vector(type, 400));
        std::vector<number> values;
        const bool is_signed =
            type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
        for (int i = 0; i < 400; ++i) {
          const auto drawn = static_cast<double>(s.generator()() % 200);
          values.emplace_back(is_signed ? drawn - 100 : drawn);
          if (s.generator()() % 8 == 0) values.back() = is_signed && k == 1 ? -1 : 0;
        }
        s.fill(*inputs.back(), values);
      }
      auto& y = s.vector(traits.family == opcode_family::comparison ? dtype::boolean : type, 400);
      check(s, f, inputs, {&y}, 0);
    }
  }
}

// As numbers of 64 bits without a sign, many of them from 2^63 on.
TEST(ElementwiseOperations, OfU64HaveNoSign) {
  using u64 = std::uint64_t;
  using elementwise::apply;
  struct u64_case {
    std::string_view name;
    value (*ours)(const value&, const value&);
    double (*expected)(u64, u64);
    dtype result = dtype::u64;
  };
  static constexpr auto real = [](u64 x) { return static_cast<double>(x); };
  using v = const value&;
  const u64_case cases[] = {
      {"maximum", [](v a, v b) { return max(a, b); },
       [](u64 a, u64 b) { return real(std::max(a, b)); }},
      {"minimum", [](v a, v b) { return fmin(a, b); },
       [](u64 a, u64 b) { return real(std::min(a, b)); }},
      {"quotient", [](v a, v b) { return quotient(a, b); },
       [](u64 a, u64 b) { return real(b == 0 ? 0 : a / b); }},
      {"remainder", [](v a, v b) { return a % b; },
       [](u64 a, u64 b) { return real(b == 0 ? 0 : a % b); }},
      {"by a constant", [](v a, v) { return quotient(a, 3) + a % 3; },
       [](u64 a, u64) { return real(a / 3 + a % 3); }},
      {"shift", [](v a, v b) { return a >> (b % 70); },
       [](u64 a, u64 b) { return real(b % 70 > 63 ? 0 : a >> (b % 70)); }},
      {"sum", [](v a, v b) { return a + b * 3; }, [](u64 a, u64 b) { return real(a + b * 3); }},
      {"magnitude", [](v a, v) { return abs(a) + sign(a); },
       [](u64 a, u64) { return real(a + (a != 0 ? 1 : 0)); }},
      {"choice", [](v a, v b) { return select(a < b, a, select(b < 7, 1, 0)); },
       [](u64 a, u64 b) {
         return real(a < b ? a : b < 7 ? 1 : 0);
       }},
      {"bits", [](v a, v b) { return (a & ~1) ^ b; },
       [](u64 a, u64 b) { return real((a & ~u64{1}) ^ b); }},
      {"less", [](v a, v b) { return a < b; }, [](u64 a, u64 b) { return a < b ? 1.0 : 0.0; },
       dtype::boolean},
      {"not less", [](v a, v b) { return a >= b; }, [](u64 a, u64 b) { return a >= b ? 1.0 : 0.0; },
       dtype::boolean},
      {"beyond i64", [](v a, v) { return a >= u64{1} << 63; },
       [](u64 a, u64) { return a >> 63 != 0 ? 1.0 : 0.0; }, dtype::boolean},
      {"as f64", [](v a, v) { return a; }, [](u64 a, u64) { return real(a); }, dtype::f64},
      {"as f32", [](v a, v) { return a; }, [](u64 a, u64) { return double{static_cast<float>(a)}; },
       dtype::f32},
      {"there and back", [](v a, v) { return cast(cast(a, dtype::f64), dtype::u64); },
       [](u64 a, u64) { return real(a); }},
      {"by a real", [](v a, v) { return cast(a, dtype::f64) / 4.0; },
       [](u64 a, u64) { return real(a) / 4; }, dtype::f64},
  };
  scene s;
  auto& a = s.vector(dtype::u64, 500);
  auto& b = s.vector(dtype::u64, 500);
  for (test_tensor* const t : {&a, &b}) {  // numbers of 53 bits, which tests can hold
    std::vector<number> values;
    for (std::size_t i = 0; i < 500; ++i) {
      const u64 drawn = s.generator()() >> 11;
      values.emplace_back(real(i % 5 == 0 ? drawn % 100 : i % 3 == 0 ? drawn : drawn << 11));
    }
    s.fill(*t, values);
  }
  for (const u64_case& one : cases) {
    s.name(std::string(one.name));
    auto& y = s.vector(one.result, 500);
    const auto f = function::of(2, [&](auto x) { return one.ours(x[0], x[1]); });
    s.run(elementwise::map{.inputs = {a.view, b.view}, .outputs = {y.view}, .what = f});
    const auto now = s.elements_now(y);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto x = static_cast<u64>(a.values[i].real());
      ASSERT_EQ(now[i].real(), one.expected(x, static_cast<u64>(b.values[i].real())))
          << one.name << " of " << x << s.note();
    }
  }
}

TEST(ElementwiseOperations, OfU64TakeNothingThatMayBeNegative) {
  scene s;
  auto& a = s.vector(dtype::u64, 4);
  auto& b = s.vector(dtype::i32, 4);
  const auto refuses = [&](std::string_view name, auto f) {
    s.refuse(elementwise::map{.inputs = {a.view, b.view},
                              .outputs = {s.vector(dtype::f64, 4).view},
                              .what = function::of(2, [&](auto x) { return f(x[0], x[1]); })},
             errc::type_mismatch,
             std::string(name) + " takes u64 and integers that may be negative");
  };
  refuses("add", [](auto u, auto i) { return u + i; });
  refuses("less", [](auto u, auto i) { return i < u; });
  refuses("maximum", [](auto u, auto) { return max(u, -1); });
  refuses("select", [](auto u, auto i) { return select(i > 0, u, i); });
  refuses("bit_or", [](auto u, auto i) { return u | i; });
  refuses("equal", [](auto, auto i) { return i == std::uint64_t{1} << 63; });
  const auto divides = function::of(2, [](auto x) { return x[0] / x[1] + (x[0] >> x[1]); });
  s.run(elementwise::map{
      .inputs = {a.view, b.view}, .outputs = {s.vector(dtype::f64, 4).view}, .what = divides});
}

// As Python and NumPy have it: 1 // 0.1 is 9, as 1 % 0.1 is almost 0.1.
TEST(ElementwiseOperations, DivideDownAsTheRemainderSays) {
  const double of_a[] = {1, 0.3, 6, -1, 1e10, 4.35, -0.1, 0, -0.0, -7.5, infinity, 3, -1, nan};
  const double of_b[] = {0.1, 0.1, 0.1, 0.1, 0.7, 0.01, 1, 3, 3, 2.5, 2, infinity, infinity, 1};
  const auto f = function::of(2, [](auto x) {
    return std::vector<elementwise::result_value>{quotient(x[0], x[1]), x[0] % x[1]};
  });
  for (const dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16}) {
    scene s;
    auto& a = s.vector(type, std::size(of_a));
    auto& b = s.vector(type, std::size(of_b));
    s.fill(a, std::vector<number>(std::begin(of_a), std::end(of_a)));
    s.fill(b, std::vector<number>(std::begin(of_b), std::end(of_b)));
    auto& q = s.vector(type, std::size(of_a));
    check(s, f, {&a, &b}, {&q, &s.vector(type, std::size(of_a))}, 0);
    if (type == dtype::f64) {
      EXPECT_EQ(s.elements_now(q)[0].real(), 9);
      EXPECT_EQ(s.elements_now(q)[2].real(), 59);
    }
  }
}

TEST(ElementwiseMap, TakesEveryTypeToEveryType) {
  for (int a = 0; a < dtype_count; ++a) {
    const auto from = static_cast<dtype>(a);
    const auto number_of = [&](const value& x) {
      return is_complex(from) ? elementwise::complex(x).real : x;
    };
    const auto f = function::of(1, [&](auto x) { return number_of(x[0]) * 1.5 + 0.25; });
    const auto as_it_is = function::of(1, [&](auto x) { return number_of(x[0]); });
    for (int b = 0; b < dtype_count; ++b) {
      const auto to = static_cast<dtype>(b);
      scene s;
      s.name(std::string(to_string(from)) + " to " + std::string(to_string(to)));
      auto& x = s.vector(from, 1000);
      if (from == dtype::u64) {  // elsewhere numbers of 64 bits are not exact in f64
        std::vector<number> small = x.values;
        for (number& one : small)
          one = static_cast<double>(s.generator()() % 1'000'000);
        s.fill(x, small);
      }
      if (is_float(from)) {
        std::vector<number> values = x.values;
        const double special[] = {0,   -0.0, infinity, -infinity, nan,   1e30, -1e30, 448,
                                  460, 500,  57344,    60000,     70000, 300,  -129,  3e9};
        for (std::size_t i = 0; i < std::size(special); ++i)
          values[i] = special[i];
        s.fill(x, values);
      }
      auto& y = s.vector(to, 1000);
      check(s, f, {&x}, {&y}, 0);
      check(s, as_it_is, {&x}, {&y}, 0);
    }
  }
}

TEST(ElementwiseMap, BroadcastsAsNumPyDoes) {
  const auto f = function::of(3, [](auto x) { return fma(x[0], x[1], x[2]); });
  const std::vector<std::int64_t> shapes[][4] = {
      {{7, 5}, {5}, {7, 1}, {7, 5}},
      {{}, {3, 1, 4}, {2, 1}, {3, 2, 4}},
      {{1}, {1}, {1}, {1}},
      {{}, {}, {}, {}},
      {{1}, {1, 1}, {0}, {3, 0}},
      {{129, 1, 65}, {33, 1}, {1, 1, 65}, {129, 33, 65}},
      {{2, 3, 1, 5, 1, 2}, {3, 4, 1, 6, 1}, {1}, {2, 3, 4, 5, 6, 2}},
      {{100000}, {1}, {100000}, {100000}}};
  for (const auto& one : shapes) {
    for (const dtype type : {dtype::f32, dtype::f64, dtype::bf16, dtype::i32}) {
      scene s;
      std::vector<test_tensor*> inputs;
      for (int k = 0; k < 3; ++k) {
        std::vector<std::int64_t> strides(one[k].size());
        std::int64_t step = 1;
        for (std::size_t d = strides.size(); d-- > 0; step *= std::max<std::int64_t>(one[k][d], 1))
          strides[d] = step;
        inputs.push_back(&s.tensor(type, one[k], strides));
      }
      std::vector<std::int64_t> strides(one[3].size());
      std::int64_t step = 1;
      for (std::size_t d = strides.size(); d-- > 0; step *= std::max<std::int64_t>(one[3][d], 1))
        strides[d] = step;
      check(s, f, inputs, {&s.tensor(type, one[3], strides)}, 0);
    }
  }
}

TEST(ElementwiseMap, TakesAnyStrides) {
  const auto f = function::of(2, [](auto x) { return x[0] - x[1]; });
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::u8}) {
    scene s;
    auto& a = s.tensor(type, {65, 66, 3}, {3, 200, 1});    // transposed
    auto& b = s.tensor(type, {65, 66, 3}, {1, 65, 4300});  // column-major
    auto& c = s.tensor(type, {65, 66, 3}, {400, 5, 1});    // with gaps
    check(s, f, {&a, &b}, {&c}, 0);
  }
}

TEST(ElementwiseMap, GivesSeveralOutputsOfAnyTypes) {
  const auto f = function::of(2, [](auto x) {
    return std::vector<elementwise::result_value>{x[0] + x[1], x[0] < x[1], x[0] * 3};
  });
  scene s;
  auto& a = s.vector(dtype::bf16, 5000);
  auto& b = s.vector(dtype::f32, 5000, 2);
  check(s, f, {&a, &b},
        {&s.vector(dtype::f64, 5000), &s.vector(dtype::boolean, 5000),
         &s.vector(dtype::e5m2, 5000, 3)},
        0);
}

TEST(ElementwiseMap, ComputesWithComplexNumbers) {
  const auto f = function::of(
      2, [](auto x) { return elementwise::complex(x[0]) * conj(elementwise::complex(x[1])); });
  for (const dtype type : complex_types) {
    scene s;
    auto& a = s.vector(type, 700);
    auto& b = s.vector(type, 700, 2);
    check(s, f, {&a, &b}, {&s.vector(type, 700)}, 0);
  }
}

TEST(ElementwiseMap, WorksInPlace) {
  const auto f = function::of(2, [](auto x) { return x[0] * x[1]; });
  scene s;
  auto& a = s.vector(dtype::f32, 3000);
  auto& b = s.vector(dtype::f32, 3000);
  auto& y = s.again(a, a.view);
  check(s, f, {&a, &b}, {&y}, 0);
}

TEST(ElementwiseMap, ReadsAnInputBeforeAnOutputTakesItsPlace) {
  const auto f = function::of(2, [](auto x) {
    return std::vector<elementwise::result_value>{x[1] + 1, x[0] * 2, x[0] - x[1]};
  });
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::i64}) {
    scene s;
    auto& a = s.vector(type, 3000);
    auto& b = s.vector(type, 3000);
    auto& x = s.again(a, a.view);
    auto& z = s.again(b, b.view);
    check(s, f, {&a, &b}, {&x, &s.vector(type, 3000), &z}, 0);
  }
}

TEST(ElementwiseMap, WorksWithoutInputs) {
  const auto f =
      function::of(0, [](auto) { return elementwise::index(0) * 2 + elementwise::index(1) * 100; });
  scene s;
  check(s, f, {}, {&s.tensor(dtype::i64, {40, 50}, {50, 1})}, 0);
}

TEST(ElementwiseMap, TakesFunctionsWithOtherConstants) {
  const auto f = function::of(1, [](auto x) { return x[0] * 3.5 + 2; });
  const std::vector<scalar> before(f.constants().begin(), f.constants().end());
  ASSERT_EQ(before.size(), 2u);
  std::vector<scalar> others = before;
  for (scalar& one : others)
    one = one == scalar(2) ? scalar(7) : scalar(0.25);
  scene s;
  auto& x = s.vector(dtype::f32, 33);
  check(s, f.with_constants(others), {&x}, {&s.vector(dtype::f32, 33)}, 0);
  EXPECT_EQ(f.with_constants(before), f);
  EXPECT_THROW((void)f.with_constants({0.25}), failure);
  EXPECT_THROW((void)f.with_constants({0.25, 0.25}), failure);  // an integer becomes real
}

TEST(ElementwiseMap, RefusesWhatDoesNotFit) {
  const auto f = function::of(2, [](auto x) { return x[0] + x[1]; });
  scene s;
  auto& a = s.vector(dtype::f32, 8);
  auto& b = s.vector(dtype::f32, 4);
  auto& y = s.vector(dtype::f32, 8);
  using elementwise::map;
  s.refuse(map{.inputs = {a.view}, .outputs = {y.view}, .what = f}, errc::invalid_argument,
           "2 inputs, and 1");
  s.refuse(map{.inputs = {a.view, b.view}, .outputs = {y.view}, .what = f}, errc::shape_mismatch,
           "inputs[1] is [4]");
  s.refuse(map{.inputs = {a.view, a.view}, .outputs = {b.view}, .what = f}, errc::shape_mismatch,
           "inputs[0]");
  s.refuse(map{.inputs = {a.view, a.view}, .outputs = {a.view.slice(0, 1, 5).value()}, .what = f},
           errc::shape_mismatch);
  s.refuse(map{.inputs = {a.view.slice(0, 0, 4).value(), b.view},
               .outputs = {a.view.slice(0, 1, 5).value()},
               .what = f},
           errc::aliasing, "outputs[0]");
  const auto bits = function::of(1, [](auto x) { return x[0] & 3; });
  s.refuse(map{.inputs = {a.view}, .outputs = {y.view}, .what = bits}, errc::type_mismatch,
           "bit_and takes integers");
  const auto twice = function::of(1, [](auto x) { return x[0] * 2; });
  s.refuse(map{.inputs = {s.vector(dtype::c64, 8).view}, .outputs = {y.view}, .what = twice},
           errc::type_mismatch, "inputs[0] is c64, and the function takes it as a real number");
  const auto row = function::of(1, [](auto x) { return row_sum(x[0]); });
  s.refuse(map{.inputs = {a.view}, .outputs = {y.view}, .what = row}, errc::invalid_argument,
           "row operations");
}

}  // namespace
}  // namespace troupe::conformance
