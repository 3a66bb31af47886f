#pragma once

#include "request/matrix_layout.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::cpu {

/// A stretch of a vector of f16 or bf16 as floats, on the stack: level 1 has no routines for them.
struct half_block {
  static constexpr std::int64_t capacity = 512;
  float values[capacity];

  /// Converts the elements from `from` on, as many as fit; returns how many.
  template <class Half>
  std::int64_t read(const any_tensor& x, std::int64_t from) noexcept {
    const std::int64_t n = std::min(capacity, x.extent(0) - from);
    const std::int64_t step = blas::increment(x);
    const Half* const first = x.data<Half>() + from * step;
    for (std::int64_t i = 0; i < n; ++i)
      values[i] = static_cast<float>(first[i * step]);
    return n;
  }
  template <class Half>
  void write(const any_tensor& x, std::int64_t from) const noexcept {
    const std::int64_t n = std::min(capacity, x.extent(0) - from);
    const std::int64_t step = blas::increment(x);
    Half* const first = x.data<Half>() + from * step;
    for (std::int64_t i = 0; i < n; ++i)
      first[i * step] = static_cast<Half>(values[i]);
  }
};

}  // namespace troupe::cpu
