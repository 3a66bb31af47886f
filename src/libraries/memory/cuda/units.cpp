#include "libraries/memory/cuda/units.hpp"

#include <algorithm>

namespace troupe::cuda {

unit choose_unit(elementwise::strided_loops& loops, std::int64_t element_bytes,
                 const std::byte* from, const std::byte* to) noexcept {
  auto& inner = loops.dimensions[static_cast<std::size_t>(loops.rank - 1)];
  const bool rows = inner.from == element_bytes && inner.to == element_bytes;
  // Combines all terms of the addresses; its lowest bit is their common alignment.
  std::uint64_t terms = 16;
  terms |= reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
  if (rows) terms |= static_cast<std::uint64_t>(inner.extent * element_bytes);
  for (int d = 0; d < loops.rank - (rows ? 1 : 0); ++d) {
    const auto& one = loops.dimensions[static_cast<std::size_t>(d)];
    terms |= static_cast<std::uint64_t>(one.from) | static_cast<std::uint64_t>(one.to);
  }
  const auto common = static_cast<std::int64_t>(terms & (~terms + 1));
  if (!rows || common <= element_bytes) return {element_bytes, std::min(element_bytes, common)};

  inner = {inner.extent * element_bytes / common, common, common};
  if (inner.extent == 1 && loops.rank > 1) --loops.rank;
  return {common, common};
}

}  // namespace troupe::cuda
