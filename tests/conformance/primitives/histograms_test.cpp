#include "vectors.hpp"

#include <troupe/primitives/histograms.hpp>

#include <algorithm>
#include <cmath>

namespace troupe::conformance {
namespace {

/// The elements as f64, rounded where that has fewer bits; NaNs are left out.
std::vector<double> reals_before(const test_tensor& x) {
  std::vector<double> reals;
  for (const element_bits& one : bits_before(x)) {
    const element_value value = value_of(x.view.type(), one);
    if (!value.nan) reals.push_back(static_cast<double>(value.number));
  }
  return reals;
}

template <class F>
void for_each_histogram_case(F f) {
  for (const dtype type : ordered_types) {
    for (const content with : {content::any, content::special, content::equal}) {
      for (const std::int64_t n : lengths)
        f(type, n, with);
    }
    f(type, long_length, content::any);
  }
}

/// A range that holds much of the type's numbers.
double reach_of(dtype type) {
  return is_float(type) ? 100 : std::ldexp(1, static_cast<int>(size_of(type)) * 7);
}

TEST(PrimitivesHistogram, CountsInBinsOfEqualWidth) {
  for_each_histogram_case([](dtype type, std::int64_t n, content with) {
    for (const std::int64_t bins : {1, 10, 20'000}) {
      if (bins == 20'000 && n < 5000) continue;
      scene s;
      s.name(case_name(type, n, with) + " bins=" + std::to_string(bins));
      auto& x = s.vector(type, n, n % 2 == 0 ? 3 : 1);
      auto& counts = s.vector(dtype::i64, bins, n % 3 == 0 ? 2 : 1);
      fill_bits(s, x, with);
      const double upper = reach_of(type);
      const double lower = -upper / 3;
      std::vector<std::int64_t> expected(static_cast<std::size_t>(bins));
      for (const double v : reals_before(x)) {
        if (v < lower || v >= upper) continue;
        const double place =
            std::floor((v - lower) * (static_cast<double>(bins) / (upper - lower)));
        ++expected[std::min(static_cast<std::size_t>(place), expected.size() - 1)];
      }
      s.run(primitives::histogram_even{
          .x = x.view, .counts = counts.view, .lower = lower, .upper = upper});
      EXPECT_EQ(integers_now(s, counts), expected) << s.note();
    }
  });
}

TEST(PrimitivesHistogram, CountsBetweenEdges) {
  for_each_histogram_case([](dtype type, std::int64_t n, content with) {
    for (const std::int64_t bins : {0, 1, 7, 9000}) {
      if (bins == 9000 && n < 5000) continue;
      scene s;
      s.name(case_name(type, n, with) + " bins=" + std::to_string(bins));
      auto& x = s.vector(type, n, n % 2 == 0 ? 3 : 1);
      auto& counts = s.vector(dtype::i64, bins, n % 3 == 0 ? 2 : 1);
      auto& edges = s.vector(dtype::f64, bins + 1, n % 5 == 0 ? 2 : 1);
      fill_bits(s, x, with);
      std::vector<double> at(static_cast<std::size_t>(bins) + 1);
      for (double& one : at)
        one = std::round(s.random(dtype::f64).real() * reach_of(type));
      std::ranges::sort(at);
      s.fill(edges, std::vector<number>(at.begin(), at.end()));
      std::vector<std::int64_t> expected(static_cast<std::size_t>(bins));
      for (const double v : reals_before(x)) {
        const auto above = std::ranges::upper_bound(at, v) - at.begin();
        if (above > 0 && above <= bins) ++expected[static_cast<std::size_t>(above) - 1];
      }
      s.run(primitives::histogram_range{.x = x.view, .edges = edges.view, .counts = counts.view});
      EXPECT_EQ(integers_now(s, counts), expected) << s.note();
    }
  });
}

TEST(PrimitivesHistogram, FailsForEdgesThatDoNotAscend) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<number>& wrong :
       {std::vector<number>{0, 2, 1}, {nan, 1, 2}, {0, nan, 2}, {0, 1, nan}}) {
    scene s;
    auto& x = s.vector(dtype::f32, 100);
    auto& edges = s.vector(dtype::f64, 3);
    s.fill(edges, wrong);
    auto& counts = s.vector(dtype::i64, 2);
    const auto answer = s.attempt(
        primitives::histogram_range{.x = x.view, .edges = edges.view, .counts = counts.view});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::invalid_argument);
    EXPECT_NE(answer.error().message.find("is NaN or below the edge before it"), std::string::npos)
        << answer.error().message;
  }
}

TEST(PrimitivesHistogram, RefusesARangeThatIsNone) {
  scene s;
  const auto x = s.vector(dtype::f32, 4).view;
  const auto counts = s.vector(dtype::i64, 3).view;
  s.refuse(primitives::histogram_even{.x = x, .counts = counts, .lower = 1, .upper = 1},
           errc::invalid_argument, "lower is 1 and upper is 1");
  s.refuse(primitives::histogram_even{.x = x, .counts = counts, .lower = -1e308, .upper = 1e308},
           errc::invalid_argument, "must be finite");
  s.refuse(primitives::histogram_even{.x = x, .counts = s.vector(dtype::i64, 0).view},
           errc::shape_mismatch, "counts is empty, but there must be a bin");
}

}  // namespace
}  // namespace troupe::conformance
