#pragma once

#include "libraries/dnn/requests/pooling.hpp"
#include "libraries/dnn/shared/windows.hpp"

#include <limits>

namespace troupe::dnn {

/// A dimension of three, of which those that are missing come first. Precondition: the request is
/// valid.
[[nodiscard]] inline fixed_windows windows_along(const pooling& p, int d) noexcept {
  const int own = d - most_space + p.space();
  if (own < 0) return {};
  const auto i = static_cast<std::size_t>(own);
  const auto small = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return {.in = small(p.in(own)),
          .out = small(p.out(own)),
          .window = small(p.window[i]),
          .stride = small(p.stride[i]),
          .dilation = small(p.dilation[i]),
          .padding = small(p.padding[i]),
          .post_padding = small(p.post_padding[i]),
          .reach = small(std::min(most, spread(p.window[i], p.dilation[i]) - 1)),
          .count_padding = p.count_padding,
          // One dimension has all of it.
          .divides_by = p.divisor == 0        ? 0
                        : d == most_space - 1 ? small(p.divisor)
                                              : 1,
          .by_stride = quick_divisor(p.stride[i]),
          .by_dilation = quick_divisor(p.dilation[i])};
}

}  // namespace troupe::dnn
