#include "libraries/primitives/requests/rules.hpp"

#include "libraries/primitives/requests/accumulators.hpp"

#include <fmt/format.h>

#include <limits>

namespace troupe::primitives {

type_rows combined_types() {
  type_rows rows({});
  for (const dtype type : ordered_types) {
    rows.rows.push_back({type, type});
    if (accumulator_of(type) != type) rows.rows.push_back({type, accumulator_of(type)});
  }
  return rows;
}

argument_checks& holds_combination(argument_checks& check, const any_tensor& x,
                                   std::string_view name, const any_tensor& to, combination op) {
  if (to.null()) return check;
  const bool selects = is_selection(op);
  check.rule(!selects || to.type() == x.type(), errc::type_mismatch, [&] {
    return fmt::format("{} must be {}, as x is, for a minimum or maximum; it is {}", name,
                       to_string(x.type()), to_string(to.type()));
  });
  return check.rule(selects || to.type() != dtype::boolean, errc::type_mismatch, [&] {
    return fmt::format("{} must be i64 for a sum or product of booleans; it is boolean", name);
  });
}

argument_checks& offsets_bound_segments(argument_checks& check, const any_tensor& offsets) {
  return check.rule(offsets.extent(0) >= 1, errc::shape_mismatch, [] {
    return "offsets is empty, but it has one element more than there are segments";
  });
}

argument_checks& axis_exists(argument_checks& check, std::int64_t axis, int rank) {
  return check.rule(axis >= -rank && axis < rank, errc::invalid_argument, [&] {
    return fmt::format("axis must be from {} to {}; it is {}", -rank, rank - 1, axis);
  });
}

argument_checks& are_counted(argument_checks& check, std::string_view of, std::int64_t n) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return check.rule(n <= most, errc::size_overflow,
                    [&] { return fmt::format("{} {} elements, {} is the most", of, n, most); });
}

}  // namespace troupe::primitives
