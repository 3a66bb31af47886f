#include "libraries/rng/requests/rules.hpp"

#include "libraries/rng/requests/budget.hpp"

#include <fmt/format.h>

namespace troupe::rng {
namespace {

// Beyond, offsets could no longer be added up.
constexpr std::int64_t longest = std::int64_t{1} << 62;

// Points of a quasirandom generator of 32 bits.
constexpr std::int64_t points_of_32_bits = std::int64_t{1} << 32;

// Words of a generator that cannot jump: a new worker walks to the place, which takes minutes.
constexpr std::int64_t longest_walk = std::int64_t{1} << 38;

std::int64_t end_of_stream(generator_type type) noexcept {
  switch (type) {
    case generator_type::mtgp32:
    case generator_type::mt19937:
      return longest_walk;
    case generator_type::sobol32:
    case generator_type::scrambled_sobol32:
      return points_of_32_bits;
    default:
      return longest;
  }
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

void position::describe(description<position>& d) {
  d.value("type", &position::type, "what makes the stream");
  d.value("seed", &position::seed, "which stream");
  d.value("subsequence", &position::subsequence, "which part of it")
      .only_where(d.is(&position::type, {generator_type::philox4x32_10}));
  d.value("offset", &position::offset, "where in it, in words of 32 bits or in points").at_least(0);
}

argument_checks& stream_reaches(argument_checks& check, const any_tensor& to, const position& from,
                                std::int64_t consumes) {
  check.rule(
      !is_quasi(from.type) || dimensions_of(to) <= most_dimensions, errc::invalid_argument, [&] {
        return fmt::format("to must hold points of at most {} dimensions for {}; they have {}",
                           most_dimensions, to_string(from.type), dimensions_of(to));
      });
  const std::int64_t end = end_of_stream(from.type);
  return check.rule(to.count() <= max_elements && from.offset <= end - consumes,
                    errc::size_overflow, [&] {
                      return fmt::format(
                          "from.offset must leave room for to within the {} {} of {}; from.offset "
                          "is {}, to has {} "
                          "elements",
                          end, is_quasi(from.type) ? "points" : "words", to_string(from.type),
                          from.offset, to.count());
                    });
}

argument_checks& is_pseudorandom(argument_checks& check, const position& from) {
  return check.rule(!is_quasi(from.type), errc::invalid_argument, [&] {
    return fmt::format("from.type must be a pseudorandom generator; it is {}",
                       to_string(from.type));
  });
}

}  // namespace troupe::rng
