#include "libraries/sparse/requests/rules.hpp"

#include <fmt/format.h>

namespace troupe::sparse {

void check_extent(argument_checks& check, const operand& dense, int dimension,
                  std::int64_t expected, std::string_view what) {
  check.rule(dense.view.extent(dimension) == expected, errc::shape_mismatch, [&] {
    return fmt::format("{} is {}, but extent {} of {} must be {}: {}", dense.name,
                       dense.view.to_string(), dimension, dense.name, expected, what);
  });
}

void check_made_format(argument_checks& check, std::string_view name, const sparse_matrix& made) {
  check.rule(made.format <= sparse_format::coo, errc::invalid_argument,
             [&] { return fmt::format("{} must be csr, csc or coo", name); });
}

}  // namespace troupe::sparse
