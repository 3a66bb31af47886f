#include "libraries/sparse/cpu/elements.hpp"

#include <fmt/format.h>

namespace troupe::cpu {

error index_outside(std::int64_t at, std::int64_t index, std::int64_t extent) {
  return {.code = errc::invalid_argument,
          .message = fmt::format("indices[{}] is {}, outside [0, {})", at, index, extent)};
}

}  // namespace troupe::cpu
