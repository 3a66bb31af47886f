#pragma once

#include <troupe/tensor/tensor.hpp>

#include <bit>
#include <cstdint>

namespace troupe {

/// True for most views: no extent or stride is negative, and all have so few bits that the view's
/// bytes certainly fit in 62 bits, without counting them.
[[nodiscard]] inline bool surely_fits(const any_tensor& t) noexcept {
  std::uint64_t all = 0;
  for (int d = 0; d < t.rank(); ++d)
    all |= static_cast<std::uint64_t>(t.extent(d) | t.stride(d));
  const auto bits = static_cast<int>(std::bit_width(all));
  return bits <= 24 && t.rank() * bits <= 56;
}

}  // namespace troupe
