#include "elementwise/hand_fused_loops.hpp"

#include <cmath>
#include <cstddef>

namespace troupe::bench {

void silu_of_sum(std::span<const float> x, std::span<const float> b, std::span<float> y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float z = x[i] + b[i];
    y[i] = z / (1 + std::exp(-z));
  }
}

void multiply_add(std::span<const float> x, std::span<const float> b, std::span<float> y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = 2 * x[i] + b[i];
}

float sum(std::span<const float> x) {
  float all = 0;
  for (const float one : x)
    all += one;
  return all;
}

}  // namespace troupe::bench
