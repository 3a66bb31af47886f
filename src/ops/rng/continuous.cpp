#include "ops/rng/budget.hpp"
#include "ops/rng/rules.hpp"

#include <troupe/ops/rng/continuous.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace troupe::rng {
namespace {

argument_checks& real(argument_checks& check, const any_tensor& to, const position& from) {
  return drawn(check, to, from, {dtype::f32, dtype::f64}, budget::real(to.type()));
}

argument_checks& rejected(argument_checks& check, const any_tensor& to, const position& from) {
  return drawn(check, to, from, {dtype::f32, dtype::f64}, budget::ticket, quasi::refused);
}

double largest(dtype type) noexcept {
  return type == dtype::f32 ? static_cast<double>(std::numeric_limits<float>::max())
                            : std::numeric_limits<double>::max();
}

// Below, the logarithm of a variable might not be a number of f64.
constexpr double least_shape = 1e-300;

argument_checks& shape(argument_checks& check, std::string_view name, double value) {
  return within(check, name, value, value >= least_shape, "at least 1e-300");
}

}  // namespace

void uniform::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("low", low);
  f.value("high", high);
  f.option("interval", interval, bounds::open_closed);
}

result<void> uniform::validate() const {
  argument_checks check;
  real(check, to, from);
  finite(check, "low", low);
  finite(check, "high", high);
  // In the type itself: two numbers of f64 may be one of f32.
  const bool apart =
      to.type() == dtype::f32 ? static_cast<float>(low) < static_cast<float>(high) : low < high;
  const double most = largest(to.type());
  return check
      .rule(std::abs(low) <= most && std::abs(high) <= most && high - low <= most,
            errc::invalid_argument,
            [&] {
              return fmt::format("{} … {} is wider than {} can hold", low, high,
                                 to_string(to.type()));
            })
      .rule(apart, errc::invalid_argument,
            [&] {
              return fmt::format("low is {} and high is {}; low must be less, as {}", low, high,
                                 to_string(to.type()));
            })
      .verdict();
}

std::int64_t uniform::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void normal::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("mean", mean);
  f.value("deviation", deviation);
}

result<void> normal::validate() const {
  argument_checks check;
  real(check, to, from);
  finite(check, "mean", mean);
  return within(check, "deviation", deviation, deviation >= 0, "at least 0").verdict();
}

std::int64_t normal::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void log_normal::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("mean", mean);
  f.value("deviation", deviation);
}

result<void> log_normal::validate() const {
  argument_checks check;
  real(check, to, from);
  finite(check, "mean", mean);
  return within(check, "deviation", deviation, deviation >= 0, "at least 0").verdict();
}

std::int64_t log_normal::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void exponential::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("rate", rate);
}

result<void> exponential::validate() const {
  argument_checks check;
  real(check, to, from);
  return within(check, "rate", rate, rate > 0, "greater than 0").verdict();
}

std::int64_t exponential::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void cauchy::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("location", location);
  f.value("scale", scale);
}

result<void> cauchy::validate() const {
  argument_checks check;
  real(check, to, from);
  finite(check, "location", location);
  return within(check, "scale", scale, scale > 0, "greater than 0").verdict();
}

std::int64_t cauchy::consumes() const noexcept {
  return consumed(from, to, budget::real(to.type()));
}

void gamma::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("shape", shape);
  f.value("scale", scale);
}

result<void> gamma::validate() const {
  argument_checks check;
  rejected(check, to, from);
  rng::shape(check, "shape", shape);
  return within(check, "scale", scale, scale > 0, "greater than 0").verdict();
}

std::int64_t gamma::consumes() const noexcept { return consumed(from, to, budget::ticket); }

void beta::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("a", a);
  f.value("b", b);
}

result<void> beta::validate() const {
  argument_checks check;
  rejected(check, to, from);
  shape(check, "a", a);
  return shape(check, "b", b).verdict();
}

std::int64_t beta::consumes() const noexcept { return consumed(from, to, budget::ticket); }

}  // namespace troupe::rng
