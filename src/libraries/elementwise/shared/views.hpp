#pragma once

#include <troupe/tensor/tensor.hpp>

#include <cstdint>

/// Views of operands as `map` and `rows` broadcast them.
namespace troupe::elementwise {

/// With `count` more dimensions of extent 1, after the last.
[[nodiscard]] any_tensor with_trailing_ones(const any_tensor& t, int count);
/// A vector along dimension `axis` of `rank`.
[[nodiscard]] any_tensor along(const any_tensor& t, int axis, int rank);
/// Dimension `axis` in two, of which the first has extent `parts`. Precondition: it divides, or
/// both are 0.
[[nodiscard]] any_tensor split(const any_tensor& t, int axis, std::int64_t parts);
/// With one more dimension of extent 1, which is dimension `axis` of the result.
[[nodiscard]] any_tensor with_one_at(const any_tensor& t, int axis);
/// Element `first`, first + step, … of the last dimension, `count` of them. Precondition: they
/// exist.
[[nodiscard]] any_tensor of_last(const any_tensor& t, std::int64_t first, std::int64_t step,
                                 std::int64_t count);
/// `axis`, counted from the first. Precondition: it exists.
[[nodiscard]] constexpr int from_first(std::int64_t axis, int rank) noexcept {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace troupe::elementwise
