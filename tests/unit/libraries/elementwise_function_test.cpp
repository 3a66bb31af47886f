#include <troupe/elementwise.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace troupe::elementwise {
namespace {

using enum dtype;

std::vector<output_kind> kinds(const function& f, std::initializer_list<dtype> inputs,
                               std::uint32_t repeated = 0) {
  const std::vector<dtype> types(inputs);
  auto made = f.outputs_for(types, repeated);
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *std::move(made) : std::vector<output_kind>{};
}

dtype type_of(const function& f, std::initializer_list<dtype> inputs) {
  return kinds(f, inputs).at(0).type;
}

TEST(OutputKinds, TwoTypesGiveOneThatHoldsBoth) {
  const auto f = function::of(2, [](auto x) { return x[0] + x[1]; });
  EXPECT_EQ(type_of(f, {bf16, bf16}), bf16);
  EXPECT_EQ(type_of(f, {bf16, f16}), f32);
  EXPECT_EQ(type_of(f, {f16, f64}), f64);
  EXPECT_EQ(type_of(f, {i64, e4m3}), e4m3);
  EXPECT_EQ(type_of(f, {boolean, u8}), u8);
  EXPECT_EQ(type_of(f, {boolean, boolean}), i64);
  EXPECT_EQ(type_of(f, {i8, i32}), i32);
  EXPECT_EQ(type_of(f, {u16, u8}), u16);
  EXPECT_EQ(type_of(f, {u8, i8}), i16);
  EXPECT_EQ(type_of(f, {i64, u32}), i64);
  EXPECT_EQ(type_of(f, {u32, i8}), i64);
  EXPECT_EQ(type_of(f, {u64, u8}), u64);
  EXPECT_EQ(type_of(f, {c64, c64}), f32);
}

TEST(OutputKinds, FollowTheOperation) {
  const auto of = [](auto f) { return function::of(1, [&](auto x) { return f(x[0]); }); };
  EXPECT_EQ(type_of(of([](auto x) { return 2 * x; }), {i8}), i8);
  EXPECT_EQ(type_of(of([](auto x) { return 0.5 * x; }), {i8}), f32);
  EXPECT_EQ(type_of(of([](auto x) { return 0.5 * x; }), {bf16}), bf16);
  EXPECT_EQ(type_of(of([](auto x) { return exp(x); }), {u8}), f32);
  EXPECT_EQ(type_of(of([](auto x) { return x < 2; }), {f64}), boolean);
  EXPECT_EQ(type_of(of([](auto x) { return ~x; }), {boolean}), boolean);
  EXPECT_EQ(type_of(of([](auto x) { return x << 1; }), {u16}), u16);
  EXPECT_EQ(type_of(of([](auto x) { return select(x, 1, 2.5); }), {boolean}), f32);
  EXPECT_EQ(type_of(of([](auto x) { return cast(x, e5m2); }), {f64}), e5m2);
  EXPECT_EQ(type_of(of([](auto x) { return random_bits(x, position()); }), {i8}), i64);
  EXPECT_EQ(type_of(of([](auto x) { return row_sum(x); }), {u8}), i64);
  EXPECT_EQ(type_of(of([](auto x) { return row_max(x); }), {u8}), u8);
  EXPECT_EQ(type_of(of([](auto x) { return row_argmax(x); }), {f32}), i64);
  EXPECT_EQ(type_of(of([](auto x) { return conj(complex(x)); }), {c128}), c128);
  EXPECT_EQ(type_of(of([](auto x) { return complex_value{x, 1}; }), {bf16}), c64);
}

TEST(OutputKinds, WithoutARealOperandAreAsWideAsTheRealInputs) {
  const auto choice =
      function::of(1, [](auto x) { return select(x[0] > 0, 0.1, 0.2) * (index(0) / 3); });
  for (const dtype one : {f64, f32, f16, bf16, e5m2})
    EXPECT_EQ(type_of(choice, {one}), one);
  EXPECT_EQ(type_of(choice, {i32}), f32);
  const auto mixed = function::of(2, [](auto x) { return x[0] / 3 + (x[1] > 0) * 0.5; });
  EXPECT_EQ(type_of(mixed, {i32, f64}), f64);
  EXPECT_EQ(type_of(mixed, {f16, bf16}), f32);
  const auto slope = function::of(1, [](auto x) { return relu(x[0]); }).derivative(0);
  EXPECT_EQ(type_of(slope, {f64}), f64);
  EXPECT_EQ(type_of(slope, {bf16}), bf16);
  const auto large =
      function::of(1, [](auto x) { return select(x[0] > 0, std::uint64_t{1} << 63, 0); });
  EXPECT_EQ(type_of(large, {f32}), u64);
}

TEST(OutputKinds, SayWhatIsTheSameForARow) {
  const auto f = function::of(2, [](auto x) -> std::vector<result_value> {
    const value most = row_max(x[0]);
    return {x[0] - most,
            most * x[1],
            row_length() + 1,
            most + index(3),
            complex_value{most, x[0]},
            complex_value{most, most}};
  });
  std::vector<bool> same;
  for (const output_kind& one : kinds(f, {f32, f32}, 2))
    same.push_back(one.same_for_row);
  EXPECT_EQ(same, (std::vector<bool>{false, true, true, false, false, true}));
  EXPECT_FALSE(kinds(f, {f32, f32}).at(1).same_for_row);
}

TEST(OutputKinds, WantsTheTypeOfEachInput) {
  const auto f = function::of(2, [](auto x) { return x[0] + x[1]; });
  EXPECT_EQ(f.outputs_for(std::vector{f32}).error().code, errc::invalid_argument);
}

TEST(FunctionsWithinFunctions, AreAsIfWrittenThere) {
  const auto inner = function::of(2, [](auto x) {
    return std::vector<result_value>{complex(x[0]).real * x[1] + 2, conj(complex(x[0])),
                                     cast(x[1], bf16)};
  });
  const auto outer = function::of(2, [&](auto x) {
    const auto parts = inner(std::vector<result_value>{complex(x[1]) * value(3), x[0]});
    return std::vector<result_value>{parts[0].real, *parts[1].imaginary, parts[2].real + index(1)};
  });
  EXPECT_EQ(outer, function::of(2, [](auto x) {
              return std::vector<result_value>{complex(x[1]).real * 3 * x[0] + 2,
                                               -(complex(x[1]).imaginary * 3),
                                               cast(x[0], bf16) + index(1)};
            }));
  // The imaginary part of an input that is given as a value is that input's.
  EXPECT_EQ(
      function::of(
          2, [&](auto x) { return *inner(std::vector<result_value>{x[1], x[0]})[1].imaginary; }),
      function::of(2, [](auto x) { return -complex(x[1]).imaginary; }));
  EXPECT_THROW(
      (void)function::of(1, [&](auto x) { return inner(std::vector<result_value>{x[0]})[0].real; }),
      failure);
  EXPECT_THROW((void)inner(std::vector<result_value>{value(1), value(2)}), failure);
  // An input that it takes as a number is not given a complex one.
  EXPECT_THROW((void)function::of(
                   1,
                   [&](auto x) {
                     return inner(std::vector<result_value>{complex(x[0]), complex(x[0])})[0].real;
                   }),
               failure);
}

TEST(ComplexOfAValue, IsAnInputOrAConstantOfThisFunction) {
  const auto f = function::of(1, [](auto x) { return complex(x[0]) * complex(2); });
  EXPECT_EQ(f, function::of(1, [](auto x) { return complex(x[0]) * complex_value{2, 0}; }));
  EXPECT_THROW((void)function::of(1, [](auto x) { return complex(x[0] + 1); }), failure);
  EXPECT_THROW((void)function::of(9,
                                  [](auto outer) {
                                    (void)function::of(1, [&](auto) { return complex(outer[8]); });
                                    return outer[0];
                                  }),
               failure);
}

}  // namespace
}  // namespace troupe::elementwise
