#include "libraries/rng/requests/budget.hpp"
#include "libraries/rng/requests/rules.hpp"

#include <troupe/rng/continuous.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace troupe::rng {
namespace {

constexpr std::initializer_list<dtype> real_types = {dtype::f32, dtype::f64};

// In the type itself: two numbers of f64 may be one of f32.
argument_checks& interval_fits(argument_checks& check, dtype type, double low, double high) {
  const bool single = type == dtype::f32;
  const double most = single ? static_cast<double>(std::numeric_limits<float>::max())
                             : std::numeric_limits<double>::max();
  check.rule(std::abs(low) <= most && std::abs(high) <= most && high - low <= most,
             errc::invalid_argument, [&] {
               return fmt::format(
                   "low, high and high − low must be numbers of {}; low is {}, high is {}",
                   to_string(type), low, high);
             });
  if (!check.good()) return check;
  const bool apart = single ? static_cast<float>(low) < static_cast<float>(high) : low < high;
  return check.rule(apart, errc::invalid_argument, [&] {
    return fmt::format("low must be less than high as {}; low is {}, high is {}", to_string(type),
                       low, high);
  });
}

// Below, the logarithm of a variable might not be a number of f64.
constexpr double least_shape = 1e-300;

}  // namespace

void uniform::describe(description<uniform>& d) {
  d.about("Writes numbers that are uniform between low and high.");
  describe_drawn(d, real_types);
  d.value("low", &uniform::low, "lower bound").finite();
  d.value("high", &uniform::high, "upper bound").finite();
  d.value("interval", &uniform::interval, "which bound can be drawn");
  d.rule("low is less than high, and both and their difference are numbers of to's type",
         [](argument_checks& check, const uniform& r) {
           interval_fits(check, r.to.type(), r.low, r.high);
         });
}

std::int64_t uniform::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void normal::describe(description<normal>& d) {
  d.about("Writes normal numbers with a mean and a standard deviation.",
          "M. J. Wichura, \"Algorithm AS 241: The Percentage Points of the Normal Distribution\", "
          "1988");
  describe_drawn(d, real_types);
  d.value("mean", &normal::mean, "mean").finite();
  d.value("deviation", &normal::deviation, "standard deviation").at_least(0);
}

std::int64_t normal::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void log_normal::describe(description<log_normal>& d) {
  d.about("Writes e^x for normal numbers x with a mean and a standard deviation.");
  describe_drawn(d, real_types);
  d.value("mean", &log_normal::mean, "mean of x").finite();
  d.value("deviation", &log_normal::deviation, "standard deviation of x").at_least(0);
}

std::int64_t log_normal::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void exponential::describe(description<exponential>& d) {
  d.about("Writes exponential numbers: density rate · e^(−rate·x).");
  describe_drawn(d, real_types);
  d.value("rate", &exponential::rate, "the reciprocal of the mean").above(0);
}

std::int64_t exponential::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void cauchy::describe(description<cauchy>& d) {
  d.about("Writes Cauchy numbers: location + scale · tan(π(u − 1/2)).");
  describe_drawn(d, real_types);
  d.value("location", &cauchy::location, "median").finite();
  d.value("scale", &cauchy::scale, "half of the width at half of the maximum").above(0);
}

std::int64_t cauchy::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void gamma::describe(description<gamma>& d) {
  d.about("Writes gamma numbers: density proportional to x^(shape−1) · e^(−x/scale).",
          "G. Marsaglia, W. W. Tsang, \"A Simple Method for Generating Gamma Variables\", 2000");
  describe_drawn(d, real_types);
  d.value("shape", &gamma::shape, "shape").at_least(least_shape);
  d.value("scale", &gamma::scale, "scale").above(0);
  takes_pseudorandom_only(d);
}

std::int64_t gamma::consumes() const noexcept { return consumed(from, to, budget::ticket); }

void beta::describe(description<beta>& d) {
  d.about("Writes beta numbers: density proportional to x^(a−1) · (1−x)^(b−1).");
  describe_drawn(d, real_types);
  d.value("a", &beta::a, "shape at 0").at_least(least_shape);
  d.value("b", &beta::b, "shape at 1").at_least(least_shape);
  takes_pseudorandom_only(d);
}

std::int64_t beta::consumes() const noexcept { return consumed(from, to, budget::ticket); }

}  // namespace troupe::rng
