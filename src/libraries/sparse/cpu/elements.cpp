#include "libraries/sparse/cpu/elements.hpp"

#include "libraries/sparse/shared/pattern_faults.hpp"

#include <fmt/format.h>

namespace troupe::cpu {

error misplaced_element(const sparse_matrix& a) {
  const sparse::pattern p = sparse::pattern_of(a);
  std::int64_t e = 0;
  while (e + 1 < a.stored() && p.place_of(e).what != sparse::element_place::kind::outside)
    ++e;
  return {.code = errc::invalid_argument,
          .message = fmt::format("{}{}{}", sparse::no_place_before, e, sparse::no_place_after)};
}

error index_outside(std::int64_t at, std::int64_t index, std::int64_t extent) {
  return {.code = errc::invalid_argument,
          .message = fmt::format("indices[{}] is {}, outside [0, {})", at, index, extent)};
}

}  // namespace troupe::cpu
