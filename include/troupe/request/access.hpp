#pragma once

#include <cstdint>

namespace troupe {

/// How a request uses a tensor.
enum class access : std::uint8_t {
  read,
  write,   ///< overwrites every element without reading any
  update,  ///< reads and writes, or writes only some elements
};

}  // namespace troupe
