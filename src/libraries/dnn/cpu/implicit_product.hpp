#pragma once

#include "libraries/dnn/requests/geometry.hpp"
#include "libraries/dnn/shared/epilogue.hpp"

#include <troupe/base/result.hpp>
#include <troupe/plugin/executor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// All directions of a convolution are products of matrices whose elements lie in the operands:
/// c[m, j] = Σ a[m, d] · b[d, j], where rows, columns and depth run over channels, images and
/// places. An element's offset is a sum of what both of its indices contribute; those of b that lie
/// in the padding are 0.
namespace troupe::cpu {

/// The contribution of an index: to an offset, and to the place in each dimension of space.
struct point {
  std::int64_t offset = 0;
  dnn::space_numbers place{};
};

/// Points of an index that counts through several axes, the last one fastest.
class axes {
 public:
  void begin_at(const point& first) noexcept { first_ = first; }
  /// One more axis within those before: each step adds to the offset, and to a dimension of space
  /// if `space` is not negative.
  void add(std::int64_t extent, std::int64_t step, int space = -1,
           std::int64_t places = 0) noexcept {
    all_[used_++] = {.extent = extent, .step = step, .space = space, .places = places};
  }
  [[nodiscard]] std::int64_t count() const noexcept;
  /// The points of indices [first, first + n).
  void points(std::int64_t first, std::int64_t n, point* to) const noexcept;

 private:
  struct axis {
    std::int64_t extent = 1;
    std::int64_t step = 0;
    int space = -1;
    std::int64_t places = 0;
  };
  static constexpr std::size_t most = 2 + dnn::most_space;

  point first_{};
  std::array<axis, most> all_{};
  std::size_t used_ = 0;
};

using dnn::epilogue;

struct implicit_product {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* c = nullptr;
  dtype type{};         ///< for a and b
  dtype result_type{};  ///< for c and z
  axes a_rows, a_depth, b_depth, b_columns, c_rows, c_columns, z_rows, z_columns;
  dnn::space_numbers bounds{};  ///< for b's places
  std::int64_t groups = 1;
  // The contribution of each group to offsets.
  std::int64_t a_group = 0, b_group = 0, c_group = 0, z_group = 0;

  /// Computes c. \errors `out_of_memory` for the lane's workspace
  result<void> run(const epilogue& after, lane_context& lane) const;
};

}  // namespace troupe::cpu
