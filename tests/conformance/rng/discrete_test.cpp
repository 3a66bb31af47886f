#include "streams.hpp"

#include <troupe/rng/discrete.hpp>

#include <limits>

namespace troupe::conformance {
namespace {

using rng::generator_type;

constexpr std::int64_t discrete_sample = 40'000;
constexpr dtype integers[] = {dtype::i8,  dtype::u8,  dtype::i16, dtype::u16,
                              dtype::i32, dtype::u32, dtype::i64, dtype::u64};
constexpr dtype truths[] = {dtype::boolean, dtype::u8, dtype::i32, dtype::f32, dtype::f64};
constexpr dtype count_types[] = {dtype::i32, dtype::u32, dtype::i64};
constexpr dtype indices[] = {dtype::i32, dtype::i64};

template <class F>
void for_each_discrete(F f) {
  f([](scene&) { return rng::integers{.low = 1, .high = 100}; }, integers, true);
  f([](scene&) { return rng::bernoulli{.probability = 0.3}; }, truths, true);
  f([](scene&) { return rng::poisson{.mean = 2.5}; }, count_types, true);
  f([](scene&) { return rng::poisson{.mean = 1000}; }, count_types, false);
}

rng::discrete of_three_weights(scene& s, dtype type, std::int64_t stride) {
  auto& weights = s.vector(type, 3, stride);
  s.fill(weights, std::vector<number>{1, 0, 3});
  return rng::discrete{.weights = weights.view};
}

TEST(RngDiscrete, GoOnWhereTheyStopped) {
  for_each_discrete([](auto make, std::span<const dtype> types, bool quasi) {
    for (const dtype type : types) {
      for (const generator_type generator : two_of_them)
        expect_any_split(type, generator, make);
      if (quasi) expect_any_split(type, generator_type::scrambled_sobol32, make);
    }
  });
  for (const dtype type : indices) {
    for (const generator_type generator : two_of_them) {
      expect_any_split(type, generator,
                       [](scene& s) { return of_three_weights(s, dtype::f32, 1); });
    }
  }
}

TEST(RngDiscrete, FollowRowMajorOrderWhateverTheStrides) {
  for_each_discrete([](auto make, std::span<const dtype> types, bool quasi) {
    for (const dtype type : types) {
      for (const generator_type generator : two_of_them)
        expect_row_major_order(type, generator, make);
      if (quasi) expect_row_major_order(type, generator_type::sobol64, make);
    }
  });
  for (const dtype type : indices) {
    for (const dtype weights : {dtype::f32, dtype::f64}) {
      expect_row_major_order(type, generator_type::philox4x32_10,
                             [&](scene& s) { return of_three_weights(s, weights, 2); });
    }
  }
}

TEST(RngDiscrete, GiveTheBitsOfTheCpuBackend) {
  for_each_discrete([](auto make, std::span<const dtype> types, bool) {
    for (const dtype type : types)
      expect_bits_of_the_cpu(type, make);
  });
}

std::vector<double> counted(const std::vector<double>& values, double low, std::size_t outcomes) {
  std::vector<double> counts_of(outcomes);
  for (const double one : values)
    ++counts_of.at(static_cast<std::size_t>(one - low));
  return counts_of;
}

TEST(RngDiscrete, IntegersAreEachAsLikely) {
  for (const dtype type : integers) {
    for (const generator_type generator : pseudorandom) {
      const rng::integers r{.from = {.type = generator, .seed = 3}, .low = 7, .high = 16};
      expect_frequencies(counted(values_of(r, type, discrete_sample), 7, 10),
                         std::vector<double>(10, 0.1),
                         std::string(to_string(type)) + " of " + std::string(to_string(generator)));
    }
  }
}

TEST(RngDiscrete, IntegersTakeAnyRange) {
  const auto one = values_of(rng::integers{.low = -5, .high = -5}, dtype::i16, 100);
  EXPECT_EQ(one, std::vector<double>(100, -5));
  for (const dtype type : integers) {
    const bool is_signed =
        type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
    const int bits = 8 * static_cast<int>(size_of(type)) - (is_signed ? 1 : 0);
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits);
    rng::integers r{.high = most};
    if (is_signed) r.low = -static_cast<std::int64_t>(most) - 1;
    const double width = std::ldexp(1.0, 8 * static_cast<int>(size_of(type)));
    const double low = is_signed ? -width / 2 : 0;
    // If there are few, a step of the type is wide: drawn numbers lie in its middle.
    EXPECT_LT(ks_statistic(values_of(r, type, size_of(type) == 1 ? 2000 : discrete_sample),
                           [&](double x) { return (x + 0.5 - low) / width; }),
              ks_limit)
        << to_string(type);
  }
}

TEST(RngDiscrete, BernoulliHasItsProbability) {
  for (const dtype type : truths) {
    for (const double p : {0.0, 1e-3, 0.5, 0.9, 1.0}) {
      const rng::bernoulli r{.from = {.seed = 5}, .probability = p};
      double set = 0;
      for (const double one : values_of(r, type, discrete_sample)) {
        ASSERT_TRUE(one == 0 || one == 1);
        set += one;
      }
      EXPECT_NEAR(set / discrete_sample, p, 4.5 * std::sqrt(p * (1 - p) / discrete_sample))
          << to_string(type);
    }
  }
}

TEST(RngDiscrete, PoissonHasItsDistribution) {
  for (const double mean : {0.0, 0.3, 7.0, 29.9, 30.0, 412.5}) {
    for (const generator_type generator : pseudorandom) {
      const rng::poisson r{.from = {.type = generator, .seed = 12}, .mean = mean};
      const auto outcomes = static_cast<std::size_t>(2 * mean + 60);
      std::vector<double> probabilities(outcomes);
      for (std::size_t k = 0; k < outcomes; ++k) {
        const auto real = static_cast<double>(k);
        probabilities[k] = mean == 0
                               ? (k == 0 ? 1 : 0)
                               : std::exp(real * std::log(mean) - mean - std::lgamma(real + 1));
      }
      for (const dtype type : count_types) {
        expect_frequencies(
            counted(values_of(r, type, discrete_sample), 0, outcomes), probabilities,
            "mean " + std::to_string(mean) + " of " + std::string(to_string(generator)));
      }
    }
  }
  const auto large = values_of(rng::poisson{.mean = 1e9}, dtype::i32, 1000);
  for (const double one : large)
    EXPECT_NEAR(one, 1e9, 6 * std::sqrt(1e9));
}

// More weights than a block of sums, some of them nothing.
TEST(RngDiscrete, IndicesHaveTheirWeights) {
  for (const dtype weight_type : {dtype::f32, dtype::f64}) {
    for (const std::int64_t n :
         {std::int64_t{1}, std::int64_t{3}, std::int64_t{256}, std::int64_t{1000}}) {
      for (const dtype type : indices) {
        scene s;
        auto& weights = s.vector(weight_type, n, 2);
        std::vector<number> values(static_cast<std::size_t>(n));
        std::vector<double> probabilities(values.size());
        double sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          probabilities[i] = n == 1 ? 1 : static_cast<double>(i * 7 % 5);
          values[i] = probabilities[i];
          sum += probabilities[i];
        }
        for (double& p : probabilities)
          p /= sum;
        s.fill(weights, values);
        auto& to = s.vector(type, discrete_sample);
        s.run(rng::discrete{.to = to.view, .from = {.seed = 21}, .weights = weights.view});
        const auto found = counted(real_parts(s.elements_now(to)), 0, values.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_TRUE(probabilities[i] > 0 || found[i] == 0) << i;
        }
        expect_frequencies(found, probabilities, std::to_string(n) + " weights");
      }
    }
  }
}

TEST(RngDiscrete, WeightsThatAreNoneAreFoundWhenItRuns) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& bad : {std::vector<number>{0, 0, 0}, std::vector<number>{1, -1, 3},
                          std::vector<number>{1, nan, 3}, std::vector<number>{1, infinity, 3}}) {
    scene s;
    auto& weights = s.vector(dtype::f64, 3);
    s.fill(weights, bad);
    auto& to = s.vector(dtype::i32, 10);
    const auto outcome = s.attempt(rng::discrete{.to = to.view, .weights = weights.view});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::invalid_argument);
    EXPECT_NE(outcome.error().message.find("weights must be finite"), std::string::npos)
        << outcome.error().message;
  }
}

TEST(RngDiscrete, RefuseWhatTheyCannotDo) {
  scene s;
  const auto to = s.vector(dtype::i32, 4).view;
  s.refuse(rng::integers{.to = to, .low = 3, .high = 2}, errc::invalid_argument,
           "low is 3, more than high, 2");
  s.refuse(rng::integers{.to = to, .high = 1.5}, errc::invalid_argument,
           "high must be an integer of i32; it is 1.5");
  s.refuse(rng::integers{.to = s.vector(dtype::u8, 4).view, .high = 256}, errc::invalid_argument,
           "high must be an integer of u8; it is 256");
  s.refuse(rng::poisson{.to = to, .from = {.type = generator_type::sobol32}, .mean = 30},
           errc::invalid_argument, "from.type must be a pseudorandom generator; it is sobol32");
  s.refuse(rng::discrete{.to = to, .weights = s.vector(dtype::f32, 0).view}, errc::shape_mismatch,
           "weights has 0 elements, it must have 1 to 2147483647");
}

}  // namespace
}  // namespace troupe::conformance
