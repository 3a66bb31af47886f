#pragma once

#include <troupe/tensor/tensor.hpp>

#include <cstdint>

namespace troupe::elementwise {

/// Some dimensions of a view: the place of each index, by its number in row-major order. All of it
/// is constexpr, so that kernels run the same code.
struct flat_view {
  int rank = 0;
  std::int64_t extents[max_rank] = {};
  std::int64_t strides[max_rank] = {};  ///< in elements
  std::int64_t count = 1;

  /// All dimensions of `t` but one; all, if there is no such one. Neighbours without a gap between
  /// them are one, which saves divisions.
  [[nodiscard]] static flat_view all_but(const any_tensor& t, int axis) noexcept {
    flat_view made;
    for (int d = 0; d < t.rank(); ++d) {
      if (d == axis) continue;
      const std::int64_t extent = t.extent(d);
      const bool continues = made.rank > 0 && made.strides[made.rank - 1] == t.stride(d) * extent;
      if (!continues) made.extents[made.rank++] = 1;
      made.extents[made.rank - 1] *= extent;
      made.strides[made.rank - 1] = t.stride(d);
      made.count *= extent;
    }
    return made;
  }
  /// In elements from the first. Precondition: less than `count`.
  [[nodiscard]] constexpr std::int64_t offset(std::int64_t flat) const noexcept {
    std::int64_t at = 0;
    for (int d = rank - 1; d > 0; --d) {
      at += flat % extents[d] * strides[d];
      flat /= extents[d];
    }
    return rank > 0 ? at + flat * strides[0] : at;
  }
};

}  // namespace troupe::elementwise
