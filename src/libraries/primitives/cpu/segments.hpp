#pragma once

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <string>

namespace troupe::cpu {

/// Calls `f(begin, end)` for each segment of a vector of `n` elements.
/// \errors `invalid_argument` at the first offset that is out of order or of range
template <class F>
result<void> for_each_segment(const any_tensor& offsets, std::int64_t n, F f) {
  const std::int64_t* const first = offsets.data<std::int64_t>();
  const std::int64_t step = offsets.stride(0);
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < offsets.extent(0); ++i) {
    const std::int64_t end = first[i * step];
    if (end < begin || end > n) {
      return error{.code = errc::invalid_argument,
                   .message = "offsets[" + std::to_string(i) + "] is " + std::to_string(end) +
                              ", it must be from " + std::to_string(begin) + " to " +
                              std::to_string(n)};
    }
    if (i > 0) f(begin, end);
    begin = end;
  }
  return {};
}

}  // namespace troupe::cpu
