#include "libraries/rng/requests/budget.hpp"
#include "libraries/rng/requests/rules.hpp"
#include "request/integer_values.hpp"

#include <troupe/rng/discrete.hpp>

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

namespace troupe::rng {
namespace {

bool is_integer_kind(const scalar& value) {
  return value.what() == scalar::kind::integer || value.what() == scalar::kind::unsigned_integer;
}

void integer_of_type(argument_checks& check, std::string_view name, const scalar& value,
                     dtype type) {
  check.rule(is_integer_kind(value) && integer_type_holds(type, value), errc::invalid_argument,
             [&] {
               return fmt::format("{} must be an integer of {}; it is {}", name, to_string(type),
                                  text_of(value));
             });
}

constexpr std::initializer_list<dtype> integer_types = {
    dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::i32, dtype::u32, dtype::i64, dtype::u64};
constexpr std::initializer_list<dtype> truth_types = {dtype::boolean, dtype::u8, dtype::i32,
                                                      dtype::f32, dtype::f64};
constexpr std::initializer_list<dtype> index_types = {dtype::i32, dtype::i64};

constexpr double most_mean = 1e9;
constexpr double inverted_below = 30;

bool ordered(dtype type, const scalar& low, const scalar& high) {
  return type == dtype::u64 ? low.as<std::uint64_t>() <= high.as<std::uint64_t>()
                            : low.as<std::int64_t>() <= high.as<std::int64_t>();
}

argument_checks& limits_fit(argument_checks& check, dtype type, const scalar& low,
                            const scalar& high) {
  integer_of_type(check, "low", low, type);
  integer_of_type(check, "high", high, type);
  if (!check.good()) return check;
  return check.rule(ordered(type, low, high), errc::invalid_argument, [&] {
    return "low is " + text_of(low) + ", more than high, " + text_of(high);
  });
}

argument_checks& weights_can_be_counted(argument_checks& check, const any_tensor& weights) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return check.rule(weights.extent(0) >= 1 && weights.extent(0) <= most, errc::shape_mismatch, [&] {
    return fmt::format("weights has {} elements, it must have 1 to {}", weights.extent(0), most);
  });
}

}  // namespace

void integers::describe(description<integers>& d) {
  d.about("Writes integers low … high, both included, each as likely.");
  describe_drawn(d, integer_types);
  d.value("low", &integers::low, "least integer");
  d.value("high", &integers::high, "largest integer");
  d.rule("low and high are integers that to's type holds, low not above high",
         [](argument_checks& check, const integers& r) {
           limits_fit(check, r.to.type(), r.low, r.high);
         });
}

std::int64_t integers::consumes() const noexcept {
  return consumed(from, to, budget::integer(to.type()));
}

void bernoulli::describe(description<bernoulli>& d) {
  d.about("Writes 1 (true) with a probability, 0 otherwise.");
  describe_drawn(d, truth_types);
  d.value("probability", &bernoulli::probability, "of a 1").range(0, 1);
}

std::int64_t bernoulli::consumes() const noexcept { return consumed(from, to, budget::choice); }

void poisson::describe(description<poisson>& d) {
  d.about("Writes Poisson numbers with a mean.",
          "W. Hörmann, \"The Transformed Rejection Method for Generating Poisson Random "
          "Variables\", 1993");
  describe_drawn(d, {dtype::i32, dtype::u32, dtype::i64});
  d.value("mean", &poisson::mean, "mean").range(0, most_mean);
  d.rule("from a mean of 30 on the generator is pseudorandom",
         [](argument_checks& check, const poisson& r) {
           if (r.mean >= inverted_below) is_pseudorandom(check, r.from);
         });
}

std::int64_t poisson::consumes() const noexcept { return consumed(from, to, budget::ticket); }

void discrete::describe(description<discrete>& d) {
  const extent n = d.size("n");
  d.about("Writes indices i of weights, with a probability of weights[i] / Σ weights.");
  describe_drawn(d, index_types);
  d.reads("weights", &discrete::weights, {n}, "not negative, and not all 0");
  d.layouts(layout::vector, {&discrete::weights});
  d.same_type({&discrete::weights}, {dtype::f32, dtype::f64});
  d.rule("there are 1 to 2^31 − 1 weights", [](argument_checks& check, const discrete& r) {
    weights_can_be_counted(check, r.weights);
  });
}

std::int64_t discrete::consumes() const noexcept { return consumed(from, to, budget::choice); }

}  // namespace troupe::rng
