#include "vectors.hpp"

#include <troupe/primitives/sorting.hpp>

#include <algorithm>
#include <numeric>

namespace troupe::conformance {
namespace {

/// The order of elements, by an independent stable sort of their indices.
std::vector<std::size_t> order_of(dtype type, std::span<const element_bits> bits, bool descending) {
  const std::vector<element_value> values = values_of(type, bits);
  std::vector<std::size_t> order(bits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return descending ? goes_before(values[b], values[a]) : goes_before(values[a], values[b]);
  });
  return order;
}

std::vector<element_bits> in_order(const std::vector<element_bits>& bits,
                                   std::span<const std::size_t> order) {
  std::vector<element_bits> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order)
    sorted.push_back(bits[i]);
  return sorted;
}

template <class F>
void for_each_sorting_case(F f) {
  for (const dtype type : ordered_types) {
    for (const content with : contents) {
      for (const std::int64_t n : lengths) {
        if (n < 5000 || with == content::any) f(type, n, with);
      }
    }
    f(type, long_length, content::any);
  }
}

TEST(PrimitivesSort, OrdersEveryTypeUpAndDown) {
  for_each_sorting_case([](dtype type, std::int64_t n, content with) {
    for (const bool descending : {false, true}) {
      if (n == long_length && descending) continue;
      scene s;
      s.name(case_name(type, n, with));
      auto& x = s.vector(type, n, descending ? 3 : 1);
      auto& y = s.vector(type, n, n % 3 == 0 ? 2 : 1);
      fill_bits(s, x, with);
      const auto before = bits_before(x);
      s.run(primitives::sort{.x = x.view, .y = y.view, .descending = descending});
      EXPECT_EQ(bits_now(s, y), in_order(before, order_of(type, before, descending))) << s.note();
    }
  });
}

TEST(PrimitivesSort, WorksInPlace) {
  for (const dtype type : ordered_types) {
    for (const std::int64_t stride : {1, 2}) {
      scene s;
      s.name(case_name(type, 3001, content::special));
      auto& x = s.vector(type, 3001, stride);
      fill_bits(s, x, content::special);
      const auto before = bits_before(x);
      s.run(primitives::sort{.x = x.view, .y = x.view});
      EXPECT_EQ(bits_now(s, x), in_order(before, order_of(type, before, false))) << s.note();
    }
  }
}

TEST(PrimitivesSort, PutsNansBehindAllNumbersAndNegativeZeroBeforeZero) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  scene s;
  auto& x = s.vector(dtype::f32, 7);
  auto& y = s.vector(dtype::f32, 7);
  s.fill(x, std::vector<number>{-nan, 0.0, infinity, nan, -0.0, -infinity, -1.0});
  s.run(primitives::sort{.x = x.view, .y = y.view});
  const auto now = bits_now(s, y);
  const std::vector<std::uint64_t> expected{0xff800000, 0xbf800000, 0x80000000, 0,
                                            0x7f800000, 0x7fc00000, 0xffc00000};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(now[i].words[0], expected[i]) << i;
}

TEST(PrimitivesSort, MovesValuesOfEveryTypeWithTheirKeys) {
  std::size_t next = 0;
  for_each_sorting_case([&](dtype type, std::int64_t n, content with) {
    scene s;
    const dtype of_values = every_type[next++ % std::size(every_type)];
    const bool descending = next % 2 == 0;
    s.name(case_name(type, n, with) + " with " + std::string(troupe::to_string(of_values)));
    auto& keys = s.vector(type, n, next % 3 == 0 ? 2 : 1);
    auto& values = s.vector(of_values, n, next % 5 == 0 ? 3 : 1);
    auto& sorted_keys = s.vector(type, n);
    auto& sorted_values = s.vector(of_values, n, next % 7 == 0 ? 2 : 1);
    fill_bits(s, keys, with);
    fill_bits(s, values, content::any);
    const auto keys_before = bits_before(keys);
    const auto values_before = bits_before(values);
    s.run(primitives::sort_pairs{.keys = keys.view,
                                 .values = values.view,
                                 .sorted_keys = sorted_keys.view,
                                 .sorted_values = sorted_values.view,
                                 .descending = descending});
    const auto order = order_of(type, keys_before, descending);
    EXPECT_EQ(bits_now(s, sorted_keys), in_order(keys_before, order)) << s.note();
    EXPECT_EQ(bits_now(s, sorted_values), in_order(values_before, order)) << s.note();
  });
}

TEST(PrimitivesSort, SortsPairsInPlace) {
  for (const dtype of_values : every_type) {
    scene s;
    s.name(std::string(troupe::to_string(of_values)));
    auto& keys = s.vector(dtype::u8, 2003, 2);
    auto& values = s.vector(of_values, 2003);
    fill_bits(s, keys, content::any);
    fill_bits(s, values, content::any);
    const auto keys_before = bits_before(keys);
    const auto values_before = bits_before(values);
    s.run(primitives::sort_pairs{.keys = keys.view,
                                 .values = values.view,
                                 .sorted_keys = keys.view,
                                 .sorted_values = values.view});
    const auto order = order_of(dtype::u8, keys_before, false);
    EXPECT_EQ(bits_now(s, keys), in_order(keys_before, order)) << s.note();
    EXPECT_EQ(bits_now(s, values), in_order(values_before, order)) << s.note();
  }
}

TEST(PrimitivesSort, SortsEachSegmentAndCopiesTheRest) {
  for_each_sorting_case([](dtype type, std::int64_t n, content with) {
    scene s;
    s.name(case_name(type, n, with));
    const bool descending = n % 2 == 0;
    auto& x = s.vector(type, n, n % 3 == 0 ? 2 : 1);
    auto& y = s.vector(type, n, n % 5 == 0 ? 2 : 1);
    fill_bits(s, x, with);
    const auto at = random_offsets(s, n);
    auto& offsets = integers(s, at, n % 3 == 1 ? 2 : 1);
    auto expected = bits_before(x);
    s.run(primitives::segmented_sort{
        .x = x.view, .offsets = offsets.view, .y = y.view, .descending = descending});
    for (std::size_t i = 0; i + 1 < at.size(); ++i) {
      const auto segment = std::vector(expected.begin() + at[i], expected.begin() + at[i + 1]);
      std::ranges::copy(in_order(segment, order_of(type, segment, descending)),
                        expected.begin() + at[i]);
    }
    EXPECT_EQ(bits_now(s, y), expected) << s.note();
  });
}

TEST(PrimitivesSort, FailsForOffsetsThatAreOutOfOrderOrRange) {
  for (const std::vector<std::int64_t>& wrong : {std::vector<std::int64_t>{0, 5, 3, 10},
                                                 {0, 11},
                                                 {-1, 10},
                                                 {0, std::int64_t{1} << 62, 10}}) {
    scene s;
    auto& x = s.vector(dtype::f32, 10);
    auto& y = s.vector(dtype::f32, 10);
    auto& offsets = integers(s, wrong);
    const auto answer =
        s.attempt(primitives::segmented_sort{.x = x.view, .offsets = offsets.view, .y = y.view});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::invalid_argument);
    EXPECT_NE(answer.error().message.find("offsets["), std::string::npos) << answer.error().message;
  }
}

TEST(PrimitivesTopK, FindsTheExtremesAndTheirIndices) {
  for_each_sorting_case([](dtype type, std::int64_t n, content with) {
    for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, n / 2, n}) {
      if (k > n || (n > 5000 && k == n / 2)) continue;
      const bool smallest = (k + n) % 2 == 0;
      scene s;
      s.name(case_name(type, n, with) + " k=" + std::to_string(k));
      auto& x = s.vector(type, n, k == 7 ? 2 : 1);
      auto& values = s.vector(type, k, n % 3 == 0 ? 2 : 1);
      auto& indices = s.vector(dtype::i64, k, n % 5 == 0 ? 2 : 1);
      fill_bits(s, x, with);
      const auto before = bits_before(x);
      auto order = order_of(type, before, !smallest);
      order.resize(static_cast<std::size_t>(k));
      s.run(primitives::top_k{
          .x = x.view, .values = values.view, .indices = indices.view, .smallest = smallest});
      EXPECT_EQ(bits_now(s, values), in_order(before, order)) << s.note();
      EXPECT_EQ(integers_now(s, indices), std::vector<std::int64_t>(order.begin(), order.end()))
          << s.note();
    }
  });
}

TEST(PrimitivesTopK, NeedsNoIndices) {
  scene s;
  auto& x = s.vector(dtype::i32, 100);
  auto& values = s.vector(dtype::i32, 3);
  auto expected = x.values;
  std::ranges::sort(expected, [](number a, number b) { return a.real() > b.real(); });
  expected.resize(3);
  s.run(primitives::top_k{.x = x.view, .values = values.view});
  EXPECT_EQ(s.elements_now(values), expected);
}

TEST(PrimitivesTopK, RefusesMoreThanThereAre) {
  scene s;
  s.refuse(
      primitives::top_k{.x = s.vector(dtype::f32, 3).view, .values = s.vector(dtype::f32, 4).view},
      errc::shape_mismatch, "values has 4 elements, but x has only 3");
}

}  // namespace
}  // namespace troupe::conformance
