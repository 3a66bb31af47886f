#include "ops/rng/rules.hpp"

#include "ops/rng/budget.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace troupe::rng {
namespace {

// Beyond, offsets could no longer be added up.
constexpr std::int64_t longest = std::int64_t{1} << 62;

// Points of a quasirandom generator of 32 bits.
constexpr std::int64_t points_of_32_bits = std::int64_t{1} << 32;

std::int64_t end_of_stream(generator_type type) noexcept {
  return type == generator_type::sobol32 || type == generator_type::scrambled_sobol32
             ? points_of_32_bits
             : longest;
}

void describe_bits(field_visitor& f, std::string_view name, std::uint64_t& value) {
  auto number = std::bit_cast<std::int64_t>(value);
  f.value(name, number);
  // As with options: nothing is written where it is only read.
  const auto described = std::bit_cast<std::uint64_t>(number);
  if (value != described) value = described;
}

}  // namespace

std::string_view to_string(generator_type type) noexcept {
  switch (type) {
    case generator_type::philox4x32_10:
      return "philox4x32_10";
    case generator_type::xorwow:
      return "xorwow";
    case generator_type::mrg32k3a:
      return "mrg32k3a";
    case generator_type::mtgp32:
      return "mtgp32";
    case generator_type::mt19937:
      return "mt19937";
    case generator_type::sobol32:
      return "sobol32";
    case generator_type::scrambled_sobol32:
      return "scrambled_sobol32";
    case generator_type::sobol64:
      return "sobol64";
    case generator_type::scrambled_sobol64:
      return "scrambled_sobol64";
  }
  return "unknown";
}

void describe(field_visitor& f, position& from) {
  f.option("type", from.type, generator_type::scrambled_sobol64);
  describe_bits(f, "seed", from.seed);
  describe_bits(f, "subsequence", from.subsequence);
  f.value("offset", from.offset);
}

argument_checks& drawn(argument_checks& check, const any_tensor& to, const position& from,
                       std::initializer_list<dtype> types, std::size_t words, quasi generators) {
  check.tensor({"to", to}).type({"to", to}, types).written({"to", to});
  check.rule(from.offset >= 0, errc::invalid_argument,
             [&] { return fmt::format("offset is {}, it must be at least 0", from.offset); });
  check.rule(from.subsequence == 0 || from.type == generator_type::philox4x32_10,
             errc::invalid_argument, [&] {
               return fmt::format("subsequence is {}, but {} has one sequence for each seed",
                                  from.subsequence, to_string(from.type));
             });
  if (is_quasi(from.type)) {
    check.rule(generators == quasi::allowed, errc::invalid_argument, [&] {
      return fmt::format("{} is quasirandom; this needs a pseudorandom generator",
                         to_string(from.type));
    });
    check.rule(dimensions_of(to) <= most_dimensions, errc::invalid_argument, [&] {
      return fmt::format("points of {} dimensions; {} has {} at most", dimensions_of(to),
                         to_string(from.type), most_dimensions);
    });
  }
  // `consumed` multiplies, so only what has passed is counted; counts have 56 bits at most there.
  return check.rule(
      !check.good() || (to.count() <= max_elements &&
                        from.offset <= end_of_stream(from.type) - consumed(from, to, words)),
      errc::size_overflow, [&] {
        return fmt::format("{} elements from offset {} on go beyond the {} that {} has", to.count(),
                           from.offset, end_of_stream(from.type), to_string(from.type));
      });
}

argument_checks& finite(argument_checks& check, std::string_view name, double value) {
  return check.rule(std::isfinite(value), errc::invalid_argument,
                    [&] { return fmt::format("{} is {}, it must be finite", name, value); });
}

argument_checks& within(argument_checks& check, std::string_view name, double value, bool holds,
                        std::string_view rule) {
  return finite(check, name, value).rule(holds, errc::invalid_argument, [&] {
    return fmt::format("{} is {}, it must be {}", name, value, rule);
  });
}

}  // namespace troupe::rng
