#pragma once

#include <troupe/tensor/tensor.hpp>

#include <bit>
#include <cstdint>

namespace troupe {

/// True of most views: no extent or stride is negative, and all have so few bits that the bytes
/// which the view reaches need not be counted to be known to fit in 62.
[[nodiscard]] inline bool surely_fits(const any_tensor& t) noexcept {
  std::uint64_t all = 0;
  for (int d = 0; d < t.rank(); ++d)
    all |= static_cast<std::uint64_t>(t.extent(d) | t.stride(d));
  const auto bits = static_cast<int>(std::bit_width(all));
  return bits <= 24 && t.rank() * bits <= 56;
}

}  // namespace troupe
