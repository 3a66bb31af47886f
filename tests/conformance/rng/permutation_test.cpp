#include "streams.hpp"

#include <troupe/rng/permutation.hpp>

#include <map>
#include <numeric>

namespace troupe::conformance {
namespace {

using rng::generator_type;

constexpr dtype permutation_types[] = {dtype::i32, dtype::i64};
const auto any_order = [](scene&) { return rng::permutation{}; };

std::vector<double> order_of(const rng::position& from, dtype type, std::int64_t n,
                             std::int64_t stride = 1) {
  scene s;
  auto& to = s.vector(type, n, stride);
  s.run(rng::permutation{.to = to.view, .from = from});
  return real_parts(s.elements_now(to));
}

TEST(RngPermutation, HasEachIndexOnce) {
  for (const dtype type : permutation_types) {
    for (const generator_type generator : pseudorandom) {
      for (const std::int64_t n : {0, 1, 2, 3, 17, 1000, 70'001}) {
        if (n > 1000 && generator != generator_type::philox4x32_10) continue;
        for (const std::int64_t stride : {1, 3}) {
          std::vector<double> found = order_of({.type = generator, .seed = 9}, type, n, stride);
          std::ranges::sort(found);
          std::vector<double> expected(static_cast<std::size_t>(n));
          std::iota(expected.begin(), expected.end(), 0.0);
          EXPECT_EQ(found, expected) << to_string(generator) << " n=" << n;
        }
      }
    }
  }
}

TEST(RngPermutation, SortsByTheWordsOfTheReference) {
  constexpr std::size_t n = 501;
  std::vector<std::pair<std::uint64_t, double>> keyed(n);
  for (std::size_t i = 0; i < n; ++i) {
    keyed[i] = {
        std::uint64_t{reference_word(4, 1, 6 + 2 * i + 1)} << 32 | reference_word(4, 1, 6 + 2 * i),
        static_cast<double>(i)};
  }
  std::ranges::sort(keyed);
  std::vector<double> expected;
  expected.reserve(keyed.size());
  for (const auto& [key, index] : keyed)
    expected.push_back(index);
  for (const dtype type : permutation_types)
    EXPECT_EQ(order_of({.seed = 4, .subsequence = 1, .offset = 6}, type, n), expected);
}

TEST(RngPermutation, EveryOrderIsAsLikely) {
  std::map<std::vector<double>, double> orders;
  rng::generator stream({.seed = 100});
  for (int round = 0; round < 360; ++round) {
    scene s;
    auto& to = s.vector(dtype::i32, 3);
    s.run(stream.draw(rng::permutation{.to = to.view}));
    ++orders[real_parts(s.elements_now(to))];
  }
  std::vector<double> counts;
  counts.reserve(orders.size());
  for (const auto& [order, count] : orders)
    counts.push_back(count);
  ASSERT_EQ(counts.size(), 6u);
  expect_frequencies(counts, std::vector<double>(6, 1.0 / 6), "orders of three");
}

TEST(RngPermutation, GivesTheOrderOfTheCpuBackend) {
  for (const dtype type : permutation_types)
    expect_bits_of_the_cpu(type, any_order);
}

TEST(RngPermutation, RefusesWhatItCannotDo) {
  scene s;
  s.refuse(rng::permutation{.to = s.vector(dtype::i32, 4).view,
                            .from = {.type = generator_type::sobol32}},
           errc::invalid_argument, "from.type must be a pseudorandom generator; it is sobol32");
}

}  // namespace
}  // namespace troupe::conformance
