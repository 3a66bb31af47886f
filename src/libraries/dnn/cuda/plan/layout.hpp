#pragma once

#include "libraries/dnn/cuda/plan/plan_service.hpp"

#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// The layout of operands in the form in which plans are told of it.
namespace troupe::cuda {

/// The alignment of addresses, in bytes, that most of cuDNN's engines need.
inline constexpr std::int64_t well_aligned = 16;

/// The largest power of two that the address is a multiple of, at most `well_aligned`.
[[nodiscard]] inline std::int64_t alignment_of(const any_tensor& t) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(t.address()) | std::uintptr_t{well_aligned};
  return static_cast<std::int64_t>(address & (~address + 1));
}

/// The strides of a dense tensor in row-major order.
[[nodiscard]] inline std::vector<std::int64_t> packed_strides(
    std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t step = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[d] = step;
    step *= extents[d];
  }
  return strides;
}

/// The size of a dense tensor.
[[nodiscard]] inline std::int64_t bytes_of(const shape& extents, dtype type) noexcept {
  std::int64_t count = size_of(type);
  for (const std::int64_t extent : extents.extents())
    count *= extent;
  return count;
}

/// Appends the type and layout of a tensor to a key. An absent tensor has a distinct word.
inline void write_layout(plan_words& key, const any_tensor& t) {
  key.push_back(t.null() ? -1 : static_cast<std::int64_t>(t.type()));
  if (t.null()) return;
  key.insert(key.end(), t.extents().begin(), t.extents().end());
  key.insert(key.end(), t.strides().begin(), t.strides().end());
}

}  // namespace troupe::cuda
