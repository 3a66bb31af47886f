#include "ops/rng/budget.hpp"
#include "ops/rng/rules.hpp"

#include <troupe/ops/rng/permutation.hpp>

#include <fmt/format.h>

#include <limits>

namespace troupe::rng {

void permutation::describe(field_visitor& f) {
  f.writes("to", to);
  rng::describe(f, from);
}

result<void> permutation::validate() const {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  argument_checks check;
  check.vector({"to", to});
  return drawn(check, to, from, {dtype::i32, dtype::i64}, budget::sort_key, quasi::refused)
      .rule(to.extent(0) <= most, errc::size_overflow,
            [&] { return fmt::format("to has {} elements, {} is the most", to.extent(0), most); })
      .verdict();
}

std::int64_t permutation::consumes() const noexcept { return consumed(from, to, budget::sort_key); }

}  // namespace troupe::rng
