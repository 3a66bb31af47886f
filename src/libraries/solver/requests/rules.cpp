#include "libraries/solver/requests/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <limits>

namespace troupe::solver {

using enum dtype;

const type_rows& matrix_and_real_rows() {
  static const type_rows rows{
      {f32, f32, f32, f32}, {f64, f64, f64, f64}, {c64, f32, c64, c64}, {c128, f64, c128, c128}};
  return rows;
}

const type_rows& matrix_and_complex_rows() {
  static const type_rows rows{{f32, c64, c64, c64},
                              {f64, c128, c128, c128},
                              {c64, c64, c64, c64},
                              {c128, c128, c128, c128}};
  return rows;
}

argument_checks& check_limit(argument_checks& check, const operand& a) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  const int rank = a.view.rank();
  return check.rule(a.view.extent(rank - 2) <= limit && a.view.extent(rank - 1) <= limit,
                    errc::size_overflow, [&] {
                      return fmt::format(
                          "{} may have at most 2^31 − 1 rows and columns; it is [{}]", a.name,
                          fmt::join(a.view.extents(), ", "));
                    });
}

}  // namespace troupe::solver
