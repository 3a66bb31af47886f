#include "streams.hpp"

#include <troupe/rng/continuous.hpp>

#include <numbers>

namespace troupe::conformance {
namespace {

using rng::generator_type;

constexpr dtype continuous_types[] = {dtype::f32, dtype::f64};
constexpr std::int64_t continuous_sample = 20'000;

template <class F>
void for_each_continuous(F f) {
  f([](scene&) { return rng::uniform{.low = -2, .high = 3}; }, true);
  f([](scene&) { return rng::uniform{.low = -2, .high = 3, .interval = rng::bounds::open_closed}; },
    true);
  f([](scene&) { return rng::normal{.mean = 1, .deviation = 2}; }, true);
  f([](scene&) { return rng::log_normal{.mean = 0.5, .deviation = 0.7}; }, true);
  f([](scene&) { return rng::exponential{.rate = 3}; }, true);
  f([](scene&) { return rng::cauchy{.location = -1, .scale = 0.5}; }, true);
  f([](scene&) { return rng::gamma{.shape = 2.5, .scale = 3}; }, false);
  f([](scene&) { return rng::gamma{.shape = 0.1}; }, false);
  f([](scene&) { return rng::beta{.a = 0.5, .b = 4}; }, false);
}

TEST(RngContinuous, GoOnWhereTheyStopped) {
  for_each_continuous([](auto make, bool quasi) {
    for (const dtype type : continuous_types) {
      for (const generator_type generator : two_of_them)
        expect_any_split(type, generator, make);
      if (quasi) expect_any_split(type, generator_type::sobol64, make);
    }
  });
}

TEST(RngContinuous, FollowRowMajorOrderWhateverTheStrides) {
  for_each_continuous([](auto make, bool quasi) {
    for (const dtype type : continuous_types) {
      for (const generator_type generator : two_of_them)
        expect_row_major_order(type, generator, make);
      if (!quasi) continue;
      expect_row_major_order(type, generator_type::sobol32, make);
      expect_row_major_order(type, generator_type::scrambled_sobol64, make);
    }
  });
}

TEST(RngContinuous, GiveTheBitsOfTheCpuBackend) {
  for_each_continuous([](auto make, bool) {
    for (const dtype type : continuous_types)
      expect_bits_of_the_cpu(type, make);
  });
}

// The probability of a smaller value, by the C++ library.
double below_normal(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double below_cauchy(double x) { return 0.5 + std::atan(x) / std::numbers::pi; }

/// The numbers between 0 and 1 for the words of philox, in the middle of their interval.
std::vector<double> reference_units(dtype type, const rng::position& from, std::size_t count) {
  std::vector<double> units(count);
  const std::uint64_t words = type == dtype::f32 ? 1 : 2;
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = [&](std::uint64_t which) {
      return reference_word(from.seed, from.subsequence,
                            static_cast<std::uint64_t>(from.offset) + i * words + which);
    };
    if (words == 1) {
      units[i] = (word(0) + 0.5) * 0x1p-32;
    } else {
      const std::uint64_t bits = std::uint64_t{word(1)} << 32 | word(0);
      units[i] = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
    }
  }
  return units;
}

// The distribution function undoes what the request did to the reference's words.
template <request R>
void expect_inverse(R r, const std::function<double(double)>& below) {
  for (const dtype type : continuous_types) {
    r.from = {.seed = 77, .subsequence = 5, .offset = 1};
    const std::vector<double> found = values_of(r, type, 4001);
    const std::vector<double> units = reference_units(type, r.from, found.size());
    const double bound = type == dtype::f32 ? 3e-7 : 1e-14;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(below(found[i]), units[i], bound)
          << R::name << " " << to_string(type) << " element " << i << " is " << found[i];
    }
  }
}

TEST(RngContinuous, InvertTheirDistributionFunctions) {
  expect_inverse(rng::normal{.mean = 0.5, .deviation = 2},
                 [](double x) { return below_normal((x - 0.5) / 2); });
  expect_inverse(rng::log_normal{.mean = 0.5, .deviation = 2},
                 [](double x) { return below_normal((std::log(x) - 0.5) / 2); });
  expect_inverse(rng::exponential{.rate = 0.25}, [](double x) { return -std::expm1(-x / 4); });
  expect_inverse(rng::cauchy{.location = 1, .scale = 3},
                 [](double x) { return below_cauchy((x - 1) / 3); });
}

TEST(RngContinuous, UniformIsExactlyItsWords) {
  for (const rng::bounds interval : {rng::bounds::closed_open, rng::bounds::open_closed}) {
    const double added = interval == rng::bounds::open_closed ? 1 : 0;
    const rng::position from{.seed = 1, .offset = 2};
    const auto narrow =
        values_of(rng::uniform{.from = from, .interval = interval}, dtype::f32, 999);
    const auto wide = values_of(rng::uniform{.from = from, .interval = interval}, dtype::f64, 499);
    for (std::size_t i = 0; i < narrow.size(); ++i)
      ASSERT_EQ(narrow[i], ((reference_word(1, 0, 2 + i) >> 8) + added) * 0x1p-24);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const std::uint64_t bits =
          std::uint64_t{reference_word(1, 0, 3 + 2 * i)} << 32 | reference_word(1, 0, 2 + 2 * i);
      ASSERT_EQ(wide[i], (static_cast<double>(bits >> 11) + added) * 0x1p-53);
    }
  }
}

template <request R>
void expect_distribution(R r, const std::function<double(double)>& below,
                         std::span<const generator_type> generators) {
  for (const generator_type generator : generators) {
    for (const dtype type : continuous_types) {
      r.from = {.type = generator, .seed = 20'261'122};
      EXPECT_LT(ks_statistic(values_of(r, type, continuous_sample), below), ks_limit)
          << R::name << " " << to_string(type) << " of " << to_string(generator);
    }
  }
}

TEST(RngContinuous, HaveTheirDistributionsFromEveryGenerator) {
  expect_distribution(
      rng::uniform{.low = -1, .high = 4}, [](double x) { return (x + 1) / 5; }, pseudorandom);
  expect_distribution(rng::normal{}, below_normal, pseudorandom);
  expect_distribution(
      rng::log_normal{}, [](double x) { return below_normal(std::log(x)); }, pseudorandom);
  expect_distribution(rng::exponential{}, [](double x) { return -std::expm1(-x); }, pseudorandom);
  expect_distribution(rng::cauchy{}, below_cauchy, pseudorandom);
}

TEST(RngContinuous, GammaAndBetaHaveTheirDistributions) {
  // For parameters at which these are functions of the C++ library.
  const auto erlang = [](int shape, double x) {
    double term = 1;
    double sum = 1;
    for (int k = 1; k < shape; ++k) {
      term *= x / k;
      sum += term;
    }
    return 1 - std::exp(-x) * sum;
  };
  for (const int shape : {1, 3, 40}) {
    expect_distribution(
        rng::gamma{.shape = static_cast<double>(shape), .scale = 2},
        [&](double x) { return erlang(shape, x / 2); }, pseudorandom);
  }
  expect_distribution(
      rng::gamma{.shape = 0.5}, [](double x) { return std::erf(std::sqrt(x)); }, pseudorandom);
  expect_distribution(
      rng::beta{.a = 2, .b = 3}, [](double x) { return x * x * (6 - 8 * x + 3 * x * x); },
      pseudorandom);
  expect_distribution(
      rng::beta{.a = 0.5, .b = 0.5},
      [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(std::min(x, 1.0))); },
      pseudorandom);
  expect_distribution(
      rng::beta{.a = 1, .b = 5}, [](double x) { return 1 - std::pow(1 - x, 5); }, pseudorandom);
  // Almost everything is at one end or the other, and nothing is no number.
  const auto extreme = values_of(rng::beta{.a = 1e-300, .b = 1e-300}, dtype::f64, 2000);
  for (const double x : extreme)
    EXPECT_TRUE(x == 0 || x == 1) << x;
}

TEST(RngContinuous, HaveTheirMoments) {
  for (const dtype type : continuous_types) {
    const auto moments = [&](auto request, double mean, double variance) {
      request.from.seed = 8;
      const std::vector<double> x = values_of(request, type, 100'000);
      double sum = 0;
      double squares = 0;
      for (const double one : x) {
        sum += one;
        squares += (one - mean) * (one - mean);
      }
      const auto n = static_cast<double>(x.size());
      EXPECT_NEAR(sum / n, mean, 4.5 * std::sqrt(variance / n)) << request.name;
      EXPECT_NEAR(squares / n / variance, 1, 0.06) << request.name;
    };
    moments(rng::uniform{.low = 2, .high = 6}, 4, 16.0 / 12);
    moments(rng::normal{.mean = -3, .deviation = 0.5}, -3, 0.25);
    moments(rng::log_normal{.deviation = 0.5}, std::exp(0.125), std::exp(0.5) - std::exp(0.25));
    moments(rng::exponential{.rate = 4}, 0.25, 0.0625);
    moments(rng::gamma{.shape = 0.7, .scale = 2}, 1.4, 2.8);
    moments(rng::beta{.a = 2, .b = 6}, 0.25, 12.0 / (64 * 9));
  }
}

// The integral of a smooth function of three coordinates: far closer than chance could be.
TEST(RngContinuous, QuasirandomPointsIntegrate) {
  for (const generator_type generator : quasirandom) {
    scene s;
    constexpr std::int64_t points = 4096;
    auto& to = s.tensor(dtype::f64, {points, 3}, {3, 1});
    s.run(rng::uniform{.to = to.view, .from = {.type = generator, .seed = 6}});
    const std::vector<number> x = s.elements_now(to);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); i += 3)
      sum += x[i].real() * x[i + 1].real() * x[i + 2].real();
    EXPECT_NEAR(sum / points, 0.125, 5e-4) << to_string(generator);
  }
}

TEST(RngContinuous, RefuseWhatTheyCannotDo) {
  scene s;
  const auto to = s.vector(dtype::f32, 4).view;
  const auto wide = s.vector(dtype::f64, 4).view;
  s.refuse(rng::uniform{.to = to, .low = 1, .high = 1}, errc::invalid_argument, "low is 1");
  s.refuse(rng::uniform{.to = to, .low = 1, .high = 1 + 1e-12}, errc::invalid_argument, "as f32");
  s.refuse(rng::uniform{.to = to, .high = 1e39}, errc::invalid_argument, "must be numbers of f32");
  s.refuse(rng::uniform{.to = to, .low = -3e38, .high = 3e38}, errc::invalid_argument,
           "must be numbers of f32; low is -3e+38, high is 3e+38");
  s.refuse(rng::uniform{.to = wide, .low = -1e308, .high = 1e308}, errc::invalid_argument,
           "must be numbers of f64");
  s.refuse(rng::gamma{.to = to, .from = {.type = generator_type::sobol32}}, errc::invalid_argument,
           "from.type must be a pseudorandom generator; it is sobol32");
  s.refuse(rng::beta{.to = to, .from = {.type = generator_type::sobol64}}, errc::invalid_argument,
           "must be a pseudorandom generator; it is sobol64");
}

}  // namespace
}  // namespace troupe::conformance
