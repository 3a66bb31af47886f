#include "libraries/rng/requests/budget.hpp"
#include "libraries/rng/requests/rules.hpp"

#include <troupe/rng/permutation.hpp>

#include <fmt/format.h>

#include <limits>

namespace troupe::rng {
namespace {

argument_checks& indices_can_be_counted(argument_checks& check, const any_tensor& to) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return check.rule(to.extent(0) <= most, errc::size_overflow, [&] {
    return fmt::format("to has {} elements, {} is the most", to.extent(0), most);
  });
}

}  // namespace

void permutation::describe(description<permutation>& d) {
  const extent n = d.size("n");
  d.about("Writes a random order of 0 … n − 1, each as likely.");
  d.writes("to", &permutation::to, {n}, "takes the order");
  d.layouts(layout::vector, {&permutation::to});
  describe_stream(d, {dtype::i32, dtype::i64});
  takes_pseudorandom_only(d);
  d.rule("there are fewer than 2^31 indices",
         [](argument_checks& check, const permutation& r) { indices_can_be_counted(check, r.to); });
}

std::int64_t permutation::consumes() const noexcept { return consumed(from, to, budget::sort_key); }

}  // namespace troupe::rng
