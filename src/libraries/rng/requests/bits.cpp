#include "libraries/rng/requests/budget.hpp"
#include "libraries/rng/requests/rules.hpp"

#include <troupe/rng/bits.hpp>

#include <string>

namespace troupe::rng {
namespace {

argument_checks& has_enough_bits(argument_checks& check, const any_tensor& to,
                                 const position& from) {
  const bool of_32_bits =
      from.type == generator_type::sobol32 || from.type == generator_type::scrambled_sobol32;
  return check.rule(!of_32_bits || to.type() == dtype::u32, errc::type_mismatch, [&] {
    return "to is u64, but " + std::string(to_string(from.type)) + " has 32 bits";
  });
}

}  // namespace

void bits::describe(description<bits>& d) {
  d.about("Fills a tensor with random bits.");
  describe_drawn(d, {dtype::u32, dtype::u64});
  d.rule("a generator of 32 bits makes no u64",
         [](argument_checks& check, const bits& r) { has_enough_bits(check, r.to, r.from); });
}

std::int64_t bits::consumes() const noexcept { return consumed(from, to, budget::real(to.type())); }

}  // namespace troupe::rng
