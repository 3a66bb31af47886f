#include "programs.hpp"

#include <troupe/elementwise.hpp>

#include <cmath>

namespace troupe::conformance {
namespace {

using elementwise::function;
using elementwise::value;
using namespace elementwise_reference;
using result_list = std::vector<elementwise::result_value>;

constexpr std::int64_t row_lengths[] = {1, 2, 31, 32, 33, 256, 1000, 1024, 1025, 5000, 40001};

std::vector<std::int64_t> packed(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t step = 1;
  for (std::size_t d = strides.size(); d-- > 0; step *= extents[d])
    strides[d] = step;
  return strides;
}

TEST(ElementwiseRows, ReduceEachRow) {
  const auto f = function::of(1, [](auto x) {
    return result_list{row_sum(x[0]), row_max(x[0]), row_min(x[0]), row_argmax(x[0]),
                       row_argmin(x[0])};
  });
  for (const dtype type :
       {dtype::f32, dtype::f64, dtype::bf16, dtype::f16, dtype::i32, dtype::i64, dtype::u8}) {
    for (const std::int64_t n : row_lengths) {
      scene s;
      s.name(std::string(to_string(type)) + " of " + std::to_string(n));
      auto& x = s.tensor(type, {3, n}, {n + 1, 1});
      const dtype wide = is_integer(type)     ? dtype::i64
                         : type == dtype::f64 ? dtype::f64
                                              : dtype::f32;
      const auto out = [&](dtype t) { return &s.tensor(t, {3, 1}, {1, 1}); };
      // A sum of numbers of both signs cancels: its error is one of the sum of magnitudes.
      std::vector<number> positive = x.values;
      for (number& one : positive)
        one = std::abs(one.real());
      s.fill(x, positive);
      check(s, f, {&x}, {out(wide), out(type), out(type), out(dtype::i64), out(dtype::i32)}, 16,
            {1});
    }
  }
}

TEST(ElementwiseRows, ReduceAlongAnyAxes) {
  const auto f =
      function::of(1, [](auto x) { return result_list{row_sum(x[0]), row_argmin(x[0])}; });
  for (const auto& axes : std::vector<std::vector<std::int64_t>>{
           {0}, {1}, {2}, {0, 2}, {0, 1, 2}, {-1, -2}, {1, 0}, {}}) {
    scene s;
    auto& x = s.tensor(dtype::i32, {5, 33, 17}, {600, 1, 34});
    std::vector<std::int64_t> extents = {5, 33, 17};
    for (const std::int64_t axis : axes)
      extents[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)] = 1;
    check(s, f, {&x},
          {&s.tensor(dtype::i64, extents, packed(extents)),
           &s.tensor(dtype::i64, extents, packed(extents))},
          0, axes, true);
  }
}

TEST(ElementwiseRows, UseWhatIsTheSameForARowByElementsAndByRows) {
  const auto f = function::of(2, [](auto x) {
    return result_list{elementwise::position() * x[1], row_max(x[1]), x[0] + x[1]};
  });
  for (const dtype type : {dtype::f32, dtype::f64, dtype::i64}) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{5}}) {  // a row of one element too
      scene s;
      auto& x = s.tensor(type, {n, 33}, {33, 1});
      auto& repeated = s.tensor(type, {1, 33}, {33, 1});
      const auto one = [&] { return &s.tensor(type, {1, 33}, {33, 1}); };
      check(s, f, {&x, &repeated},
            {&s.tensor(type, {n, 33}, {33, 1}), one(), &s.tensor(type, {n, 33}, {33, 1})}, 0, {0});
    }
  }
}

function softmax() {
  return function::of(1, [](auto x) {
    const value e = exp(x[0] - row_max(x[0]));
    return e / row_sum(e);
  });
}

TEST(ElementwiseRows, Softmax) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::bf16}) {
    for (const std::int64_t n : row_lengths) {
      scene s;
      s.name(std::string(to_string(type)) + " of " + std::to_string(n));
      auto& x = s.tensor(type, {4, n}, packed({4, n}));
      check(s, softmax(), {&x}, {&s.tensor(type, {4, n}, packed({4, n}))}, 16, {-1});
    }
  }
}

TEST(ElementwiseRows, LayerNormWithWeightsAndStatistics) {
  const auto f = function::of(3, [](auto x) {
    const value mean = row_sum(x[0]) / elementwise::row_length();
    const value centered = x[0] - mean;
    const value scale = rsqrt(row_sum(centered * centered) / elementwise::row_length() + 1e-5);
    return result_list{centered * scale * x[1] + x[2], mean, scale};
  });
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16}) {
    for (const std::int64_t n : {2, 33, 768, 1025, 9000}) {
      scene s;
      s.name(std::string(to_string(type)) + " of " + std::to_string(n));
      auto& x = s.tensor(type, {5, n}, packed({5, n}));
      auto& w = s.vector(type, n);
      auto& b = s.vector(type, n);
      std::vector<number> shifted = x.values;
      for (number& one : shifted)
        one += 2;
      s.fill(x, shifted);
      const std::vector<expectation> wanted = expected(
          f, {&x, &w, &b},
          {&x, &s.tensor(dtype::f32, {5, 1}, {1, 1}), &s.tensor(dtype::f32, {5, 1}, {1, 1})}, {1});
      auto& y = s.tensor(type, {5, n}, packed({5, n}));
      auto& mean = s.tensor(dtype::f32, {5, 1}, {1, 1});
      auto& scale = s.tensor(dtype::f32, {5, 1}, {1, 1});
      s.run(elementwise::rows{.inputs = {x.view, w.view, b.view},
                              .outputs = {y.view, mean.view, scale.view},
                              .what = f,
                              .axes = {1}});
      const std::vector<number> now = s.elements_now(y);
      const double eps = std::max(epsilon(type), type == dtype::f64 ? 0.0 : epsilon(dtype::f32));
      for (std::size_t i = 0; i < now.size(); ++i) {
        const double want = wanted[0].real[i].number();
        ASSERT_NEAR(now[i].real(), want, eps * 16 * (1 + std::abs(want))) << i << s.note();
      }
    }
  }
}

TEST(ElementwiseRows, WorkInPlace) {
  scene s;
  auto& x = s.tensor(dtype::f32, {7, 3000}, packed({7, 3000}));
  check(s, softmax(), {&x}, {&s.again(x, x.view)}, 16, {1});
}

TEST(ElementwiseRows, OfNothingHaveTheirIdentities) {
  const auto f = function::of(1, [](auto x) {
    return result_list{row_sum(x[0]), row_argmax(x[0]), row_max(x[0]), row_product(x[0])};
  });
  scene s;
  auto& x = s.tensor(dtype::f32, {3, 0}, {1, 1});
  auto& sum = s.tensor(dtype::f32, {3, 1}, {1, 1});
  auto& place = s.tensor(dtype::i64, {3, 1}, {1, 1});
  auto& most = s.tensor(dtype::f64, {3, 1}, {1, 1});
  auto& product = s.tensor(dtype::f32, {3, 1}, {1, 1});
  s.run(elementwise::rows{
      .inputs = {x.view}, .outputs = {sum.view, place.view, most.view, product.view}, .what = f});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(s.elements_now(sum)[i], number(0));
    EXPECT_EQ(s.elements_now(place)[i], number(-1));
    EXPECT_EQ(s.elements_now(most)[i].real(), -HUGE_VAL);
    EXPECT_EQ(s.elements_now(product)[i], number(1));
  }
}

TEST(ElementwiseRows, OfNothingInSeveralDimensionsHaveTheirIdentities) {
  const auto f = function::of(1, [](auto x) { return result_list{row_sum(x[0]), row_max(x[0])}; });
  for (const auto& extents : {std::vector<std::int64_t>{3, 0, 5}, {3, 5, 0}, {3, 0, 0}}) {
    scene s;
    auto& x = s.tensor(dtype::i32, extents, {60, 7, 1});
    auto& sum = s.tensor(dtype::i64, {3, 1, 1}, {1, 1, 1});
    auto& most = s.tensor(dtype::f32, {3, 1, 1}, {1, 1, 1});
    s.run(elementwise::rows{
        .inputs = {x.view}, .outputs = {sum.view, most.view}, .what = f, .axes = {1, 2}});
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(s.elements_now(sum)[i], number(0));
      EXPECT_EQ(s.elements_now(most)[i].real(), -0x1p31);  // the i32 bound
    }
  }
}

TEST(ElementwiseRows, PropagateNaN) {
  const auto f = function::of(
      1, [](auto x) { return result_list{row_max(x[0]), row_min(x[0]), row_argmax(x[0])}; });
  for (const std::int64_t n : {3, 1000, 20000}) {
    scene s;
    auto& x = s.tensor(dtype::f32, {2, n}, packed({2, n}));
    std::vector<number> values = x.values;
    values[static_cast<std::size_t>(n / 2)] = NAN;
    values[static_cast<std::size_t>(n - 1)] = NAN;
    s.fill(x, values);
    check(s, f, {&x},
          {&s.tensor(dtype::f32, {2, 1}, {1, 1}), &s.tensor(dtype::f32, {2, 1}, {1, 1}),
           &s.tensor(dtype::i64, {2, 1}, {1, 1})},
          0, {1});
  }
}

TEST(ElementwiseRows, RefuseWhatIsNotTheSameForARow) {
  scene s;
  auto& x = s.tensor(dtype::f32, {3, 8}, {8, 1});
  auto& y = s.tensor(dtype::f32, {3, 1}, {1, 1});
  const auto f = function::of(1, [](auto in) { return in[0] + row_sum(in[0]); });
  s.refuse(elementwise::rows{.inputs = {x.view}, .outputs = {y.view}, .what = f},
           errc::invalid_argument, "not the same for the whole row");
  const auto sum = function::of(1, [](auto in) { return row_sum(in[0]); });
  s.refuse(elementwise::rows{.inputs = {x.view}, .outputs = {y.view}, .what = sum, .axes = {2}},
           errc::invalid_argument, "axes");
  s.refuse(elementwise::rows{.inputs = {x.view}, .outputs = {y.view}, .what = sum, .axes = {0}},
           errc::shape_mismatch, "outputs[0]");
}

}  // namespace
}  // namespace troupe::conformance
