#include "ops/integer_values.hpp"
#include "ops/rng/budget.hpp"
#include "ops/rng/rules.hpp"

#include <troupe/ops/rng/discrete.hpp>

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
               return fmt::format("{} is {}, which is no integer of {}", name, text_of(value),
                                  to_string(type));
             });
}

bool ordered(dtype type, const scalar& low, const scalar& high) {
  return type == dtype::u64 ? low.as<std::uint64_t>() <= high.as<std::uint64_t>()
                            : low.as<std::int64_t>() <= high.as<std::int64_t>();
}

}  // namespace

void integers::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("low", low);
  f.value("high", high);
}

result<void> integers::validate() const {
  argument_checks check;
  drawn(check, to, from,
        {dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::i32, dtype::u32, dtype::i64,
         dtype::u64},
        budget::integer(to.type()));
  integer_of_type(check, "low", low, to.type());
  integer_of_type(check, "high", high, to.type());
  return check
      .rule(ordered(to.type(), low, high), errc::invalid_argument,
            [&] { return "low is " + text_of(low) + ", more than high, " + text_of(high); })
      .verdict();
}

std::int64_t integers::consumes() const noexcept {
  return consumed(from, to, budget::integer(to.type()));
}

void bernoulli::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("probability", probability);
}

result<void> bernoulli::validate() const {
  argument_checks check;
  drawn(check, to, from, {dtype::boolean, dtype::u8, dtype::i32, dtype::f32, dtype::f64},
        budget::choice);
  return within(check, "probability", probability, probability >= 0 && probability <= 1,
                "from 0 to 1")
      .verdict();
}

std::int64_t bernoulli::consumes() const noexcept { return consumed(from, to, budget::choice); }

void poisson::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.value("mean", mean);
}

result<void> poisson::validate() const {
  constexpr double most = 1e9;
  constexpr double inverted_below = 30;
  argument_checks check;
  drawn(check, to, from, {dtype::i32, dtype::u32, dtype::i64}, budget::ticket,
        mean < inverted_below ? quasi::allowed : quasi::refused);
  return within(check, "mean", mean, mean >= 0 && mean <= most, "from 0 to 1e9").verdict();
}

std::int64_t poisson::consumes() const noexcept { return consumed(from, to, budget::ticket); }

void discrete::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
  f.reads("weights", weights);
}

result<void> discrete::validate() const {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  argument_checks check;
  drawn(check, to, from, {dtype::i32, dtype::i64}, budget::choice);
  return check.vector({"weights", weights})
      .type({"weights", weights}, {dtype::f32, dtype::f64})
      .rule(weights.extent(0) >= 1 && weights.extent(0) <= most, errc::shape_mismatch,
            [&] {
              return fmt::format("weights has {} elements, it must have 1 to {}", weights.extent(0),
                                 most);
            })
      .apart({"to", to}, {"weights", weights})
      .verdict();
}

std::int64_t discrete::consumes() const noexcept { return consumed(from, to, budget::choice); }

}  // namespace troupe::rng
