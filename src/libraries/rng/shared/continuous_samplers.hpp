#pragma once

#include "libraries/rng/requests/budget.hpp"
#include "libraries/rng/shared/normal_table.hpp"
#include "libraries/rng/shared/real_functions.hpp"
#include "libraries/rng/shared/reals.hpp"

#include <troupe/rng/continuous.hpp>

namespace troupe::rng {

/// A sampler makes the values of one request: `count` random words become one `value`.
template <class T>
struct uniform_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::real(dtype_of<T>);

  double low;
  double span;
  T least;
  T most;
  bool opens_low;
  bool is_unit;  ///< from 0 to 1: a product that is exact in f32

  explicit uniform_sampler(const rng::uniform& r) noexcept
      : low(r.low),
        span(r.high - r.low),
        least(static_cast<T>(r.low)),
        most(static_cast<T>(r.high)),
        opens_low(r.interval == rng::bounds::open_closed),
        is_unit(r.low == 0 && r.high == 1) {
    if (opens_low) {
      least = next_above(least);
    } else {
      most = next_below(most);
    }
  }

  constexpr T operator()(const words<count>& drawn) const noexcept {
    double unit = 0;
    if constexpr (count == 1) {
      const std::uint32_t k = (drawn.word[0] >> 8) + (opens_low ? 1u : 0u);
      if (is_unit) return static_cast<T>(k) * static_cast<T>(0x1p-24);
      unit = static_cast<double>(k) * 0x1p-24;
    } else {
      unit = static_cast<double>((drawn.top64() >> 11) + (opens_low ? 1u : 0u)) * 0x1p-53;
    }
    const T rounded = static_cast<T>(low + span * unit);
    return rounded < least ? least : rounded > most ? most : rounded;
  }
};

template <class T>
struct normal_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::real(dtype_of<T>);

  double mean;
  double deviation;

  explicit normal_sampler(const rng::normal& r) noexcept : mean(r.mean), deviation(r.deviation) {}

  constexpr T operator()(const words<count>& drawn) const noexcept {
    return static_cast<T>(mean + deviation * normal_quantile(inner(drawn)));
  }
};

template <>
struct normal_sampler<float> {
  using value = float;
  static constexpr std::size_t count = rng::budget::real(dtype_of<float>);

  float mean;
  float deviation;
  const normal_segment* table = nullptr;  ///< in whatever memory it is to be run

  explicit normal_sampler(const rng::normal& r) noexcept
      : mean(static_cast<float>(r.mean)), deviation(static_cast<float>(r.deviation)) {}

  constexpr float operator()(const words<count>& drawn) const noexcept {
    return mean + deviation * normal_quantile(table, drawn.word[0]);
  }
};

template <class T>
struct log_normal_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::real(dtype_of<T>);

  double mean;
  double deviation;

  constexpr T operator()(const words<count>& drawn) const noexcept {
    return static_cast<T>(exponential_of(mean + deviation * normal_quantile(inner(drawn))));
  }
};

template <class T>
struct exponential_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::real(dtype_of<T>);

  double rate;

  // Uses 1 − u, so that a larger u, as quasirandom points are ordered by, is a larger value.
  constexpr T operator()(const words<count>& drawn) const noexcept {
    return static_cast<T>(-logarithm(1 - inner(drawn)) / rate);
  }
};

template <class T>
struct cauchy_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::real(dtype_of<T>);

  double location;
  double scale;

  constexpr T operator()(const words<count>& drawn) const noexcept {
    return static_cast<T>(location + scale * tangent_of_pi(inner(drawn) - 0.5));
  }
};

/// The logarithm of a gamma variable of scale 1: for small shapes the variable itself may be too
/// small for f64. Below a shape of 1, that of shape + 1 times u^(1/shape).
constexpr double logarithm_of_gamma(double shape, ticket_stream& stream) noexcept {
  double smaller = 0;
  if (shape < 1) {
    smaller = logarithm(inner(first_half(stream.next()))) / shape;
    shape += 1;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / (3 * square_root(d));
  for (;;) {
    const words<4> drawn = stream.next();
    const double x = normal_quantile(inner(first_half(drawn)));
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double logarithm_of_v = 3 * logarithm(root);
    const double v = root * root * root;
    if (logarithm(inner(second_half(drawn))) < 0.5 * x * x + d - d * v + d * logarithm_of_v) {
      return logarithm(d) + logarithm_of_v + smaller;
    }
  }
}

template <class T>
struct gamma_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::ticket;

  double shape;
  double scale;

  constexpr T operator()(const words<count>& drawn) const noexcept {
    ticket_stream stream(drawn);
    return static_cast<T>(scale * exponential_of(logarithm_of_gamma(shape, stream)));
  }
};

template <class T>
struct beta_sampler {
  using value = T;
  static constexpr std::size_t count = rng::budget::ticket;

  double a;
  double b;

  constexpr T operator()(const words<count>& drawn) const noexcept {
    ticket_stream stream(drawn);
    const double x = logarithm_of_gamma(a, stream);
    const double y = logarithm_of_gamma(b, stream);
    return static_cast<T>(1 / (1 + exponential_of(y - x)));
  }
};

/// Calls `f` with `make` of the C++ type of a tensor of f32 or f64.
template <class Make, class F>
auto with_real(const any_tensor& to, Make make, F f) {
  return to.type() == dtype::f32 ? f(make(float{})) : f(make(double{}));
}

/// Calls `f` with the sampler of a request.
template <class F>
auto with_sampler(const uniform& r, F f) {
  return with_real(r.to, [&]<class T>(T) { return rng::uniform_sampler<T>(r); }, f);
}
template <class F>
auto with_sampler(const normal& r, F f) {
  return with_real(r.to, [&]<class T>(T) { return rng::normal_sampler<T>(r); }, f);
}
template <class F>
auto with_sampler(const log_normal& r, F f) {
  return with_real(
      r.to, [&]<class T>(T) { return rng::log_normal_sampler<T>{r.mean, r.deviation}; }, f);
}
template <class F>
auto with_sampler(const exponential& r, F f) {
  return with_real(r.to, [&]<class T>(T) { return rng::exponential_sampler<T>{r.rate}; }, f);
}
template <class F>
auto with_sampler(const cauchy& r, F f) {
  return with_real(
      r.to, [&]<class T>(T) { return rng::cauchy_sampler<T>{r.location, r.scale}; }, f);
}
template <class F>
auto with_sampler(const gamma& r, F f) {
  return with_real(r.to, [&]<class T>(T) { return rng::gamma_sampler<T>{r.shape, r.scale}; }, f);
}
template <class F>
auto with_sampler(const beta& r, F f) {
  return with_real(r.to, [&]<class T>(T) { return rng::beta_sampler<T>{r.a, r.b}; }, f);
}

}  // namespace troupe::rng
