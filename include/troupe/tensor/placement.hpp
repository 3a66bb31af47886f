#pragma once

#include <cstdint>

namespace troupe {

/// Whether a new tensor's memory is set to zero.
enum class initial : std::uint8_t { undefined, zero };

/// The placement of a new tensor.
enum class placement : std::uint8_t {
  /// In the cheapest place. On a GPU, tensors smaller than 256 KiB share pieces of memory. Access
  /// rights apply to a whole piece, so such a tensor cannot be frozen.
  shared,
  /// In a piece of its own, so that it can be frozen. On a GPU a piece takes at least 2 MiB.
  own,
};

}  // namespace troupe
