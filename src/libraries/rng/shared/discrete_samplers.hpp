#pragma once

#include "libraries/rng/requests/budget.hpp"
#include "libraries/rng/shared/real_functions.hpp"
#include "libraries/rng/shared/reals.hpp"
#include "libraries/rng/shared/weights.hpp"

#include <troupe/rng/discrete.hpp>

#include <type_traits>

namespace troupe::rng {

/// The upper 64 bits of a product of two numbers of 64.
constexpr std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t half = 0xFFFFFFFFu;
  const std::uint64_t low = (a & half) * (b & half);
  const std::uint64_t first = (a >> 32) * (b & half) + (low >> 32);
  const std::uint64_t second = (a & half) * (b >> 32) + (first & half);
  return (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32);
}

/// A sampler makes the values of one request: `count` random words become one `value`. Here the
/// bits of an integer, signed or not.
template <class Bits>
struct integer_sampler {
  using value = Bits;
  static constexpr std::size_t count = rng::budget::integer(dtype_of<Bits>);

  std::uint64_t low;
  std::uint64_t choices;  ///< 0 for all 2^64

  constexpr Bits operator()(const words<count>& drawn) const noexcept {
    const std::uint64_t upper = drawn.top64();
    if (choices == 0) return static_cast<Bits>(low + upper);
    std::uint64_t chosen = upper_product(upper, choices);
    if constexpr (count == 4) {
      // The lower 64 of the 128 bits count when they carry into the chosen ones.
      const std::uint64_t sum = upper * choices + upper_product(first_half(drawn), choices);
      if (sum < upper * choices) ++chosen;
    }
    return static_cast<Bits>(low + chosen);
  }
};

template <class T>
struct bernoulli_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::choice;

  double probability;

  constexpr T operator()(const words<count>& drawn) const noexcept {
    return static_cast<T>(from_zero(drawn.top64()) < probability);
  }
};

/// For means below 30: adds up probabilities until they pass a number drawn.
constexpr std::int64_t inverted_poisson(double mean, double drawn) noexcept {
  constexpr std::int64_t beyond = 160;  // no probability of such a mean is left there in f64
  double probability = exponential_of(-mean);
  double sum = probability;
  std::int64_t k = 0;
  while (drawn > sum && k < beyond) {
    ++k;
    probability *= mean / static_cast<double>(k);
    sum += probability;
  }
  return k;
}

/// For larger ones. The names are those of the paper (discrete.hpp).
constexpr std::int64_t rejected_poisson(double mean, ticket_stream stream) noexcept {
  constexpr double beyond = 1e15;
  const double b = 0.931 + 2.53 * square_root(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const words<4> drawn = stream.next();
    const double u = inner(first_half(drawn)) - 0.5;
    const double v = inner(second_half(drawn));
    const double u_s = 0.5 - (u < 0 ? -u : u);
    const double x = (2 * a / u_s + b) * u + mean + 0.43;
    if (x < 0 || x > beyond) continue;
    const auto k = static_cast<std::int64_t>(x);
    if (u_s >= 0.07 && v <= v_r) return k;
    if (u_s < 0.013 && v > u_s) continue;
    const auto real = static_cast<double>(k);
    if (logarithm(v * inverse_alpha / (a / (u_s * u_s) + b)) <=
        real * logarithm(mean) - mean - logarithm_of_factorial(real)) {
      return k;
    }
  }
}

template <class T>
struct poisson_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::ticket;

  double mean;

  constexpr T operator()(const words<count>& drawn) const noexcept {
    constexpr double inverted_below = 30;
    if (mean < inverted_below) {
      return static_cast<T>(inverted_poisson(mean, inner(drawn.top64())));
    }
    return static_cast<T>(rejected_poisson(mean, ticket_stream(drawn)));
  }
};

template <class T>
struct discrete_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::choice;

  weight_sums sums;

  constexpr T operator()(const words<count>& drawn) const noexcept {
    return static_cast<T>(sums.index_of(from_zero(drawn.top64())));
  }
};

}  // namespace troupe::rng

// In the namespace of the requests, so that they find them.
namespace troupe::rng {

/// Calls `f` with the sampler of a request.
template <class F>
auto with_sampler(const integers& r, F f) {
  const bool is_unsigned = r.to.type() == dtype::u64;
  const auto bits_of = [&](const scalar& value) {
    return is_unsigned ? value.as<std::uint64_t>()
                       : static_cast<std::uint64_t>(value.as<std::int64_t>());
  };
  const std::uint64_t least = bits_of(r.low);
  const std::uint64_t choices = bits_of(r.high) - least + 1;
  switch (size_of(r.to.type())) {
    case 1:
      return f(rng::integer_sampler<std::uint8_t>{least, choices});
    case 2:
      return f(rng::integer_sampler<std::uint16_t>{least, choices});
    case 4:
      return f(rng::integer_sampler<std::uint32_t>{least, choices});
    default:
      return f(rng::integer_sampler<std::uint64_t>{least, choices});
  }
}
template <class F>
auto with_sampler(const bernoulli& r, F f) {
  switch (r.to.type()) {
    case dtype::boolean:
    case dtype::u8:
      return f(rng::bernoulli_sampler<std::uint8_t>{r.probability});
    case dtype::i32:
      return f(rng::bernoulli_sampler<std::int32_t>{r.probability});
    case dtype::f32:
      return f(rng::bernoulli_sampler<float>{r.probability});
    default:
      return f(rng::bernoulli_sampler<double>{r.probability});
  }
}
template <class F>
auto with_sampler(const poisson& r, F f) {
  switch (r.to.type()) {
    case dtype::i32:
      return f(rng::poisson_sampler<std::int32_t>{r.mean});
    case dtype::u32:
      return f(rng::poisson_sampler<std::uint32_t>{r.mean});
    default:
      return f(rng::poisson_sampler<std::int64_t>{r.mean});
  }
}
/// Once the sums of the weights have been formed.
template <class F>
auto with_sampler(const discrete& r, const rng::weight_sums& sums, F f) {
  return r.to.type() == dtype::i32 ? f(rng::discrete_sampler<std::int32_t>{sums})
                                   : f(rng::discrete_sampler<std::int64_t>{sums});
}

}  // namespace troupe::rng
