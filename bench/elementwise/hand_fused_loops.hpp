#pragma once

#include <span>

namespace troupe::bench {

/// y = silu(x + b), all of one length, which the compiler turns into vectors.
void silu_of_sum(std::span<const float> x, std::span<const float> b, std::span<float> y);
/// y = 2 x + b.
void multiply_add(std::span<const float> x, std::span<const float> b, std::span<float> y);
[[nodiscard]] float sum(std::span<const float> x);

}  // namespace troupe::bench
