#pragma once

#include "libraries/memory/shared/strided_loops.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// The piece of memory that a thread moves at once. `bytes` is a power of two up to 16. Every piece
/// is aligned to `alignment`: `bytes`, or 8 for 16 bytes.
struct unit {
  std::int64_t bytes = 1;
  std::int64_t alignment = 1;
};

/// Chooses the largest unit, of at least one element, in which rows can be moved from `from` to
/// `to`, and makes `loops` count units. Elements that are not contiguous are a unit each.
[[nodiscard]] unit choose_unit(elementwise::strided_loops& loops, std::int64_t element_bytes,
                               const std::byte* from, const std::byte* to) noexcept;

}  // namespace troupe::cuda
