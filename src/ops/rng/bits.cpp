#include "ops/rng/budget.hpp"
#include "ops/rng/rules.hpp"

#include <troupe/ops/rng/bits.hpp>

#include <string>

namespace troupe::rng {

void bits::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
}

result<void> bits::validate() const {
  argument_checks check;
  drawn(check, to, from, {dtype::u32, dtype::u64}, budget::real(to.type()));
  const bool of_32_bits =
      from.type == generator_type::sobol32 || from.type == generator_type::scrambled_sobol32;
  return check
      .rule(!of_32_bits || to.type() == dtype::u32, errc::type_mismatch,
            [&] { return "to is u64, but " + std::string(to_string(from.type)) + " has 32 bits"; })
      .verdict();
}

std::int64_t bits::consumes() const noexcept { return consumed(from, to, budget::real(to.type())); }

}  // namespace troupe::rng
