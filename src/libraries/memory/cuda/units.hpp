#pragma once

#include "libraries/memory/shared/strided_loops.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Pieces of memory that a thread moves at once: `bytes` is a power of two up to 16, and every
/// piece lies at a multiple of `alignment`, which is `bytes`, or 8 for 16.
struct unit {
  std::int64_t bytes = 1;
  std::int64_t alignment = 1;
};

/// The largest unit, of at least an element, that rows from `from` to `to` can be moved in; makes
/// `loops` count units. Elements that do not lie in rows are a unit each.
[[nodiscard]] unit choose_unit(elementwise::strided_loops& loops, std::int64_t element_bytes,
                               const std::byte* from, const std::byte* to) noexcept;

}  // namespace troupe::cuda
