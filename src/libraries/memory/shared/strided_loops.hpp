#pragma once

#include <troupe/tensor/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::elementwise {

/// The loops over two views of the same extents, as few and as long as possible: dimensions of
/// extent 1 are dropped, the rest ordered by the strides of `to`, outermost first, and neighbours
/// that both views step through without a gap are merged.
struct strided_loops {
  struct dimension {
    std::int64_t extent = 1;
    std::int64_t from = 0;  ///< strides, in bytes
    std::int64_t to = 0;
  };
  std::array<dimension, max_rank> dimensions{};
  int rank = 0;        ///< at least 1: a single element is one loop of one step
  bool empty = false;  ///< no elements

  strided_loops(const any_tensor& of, const any_tensor& into) noexcept {
    for (int d = 0; d < into.rank(); ++d) {
      if (into.extent(d) == 0) empty = true;
      if (into.extent(d) <= 1) continue;
      const dimension added{into.extent(d), of.stride(d) * size_of(of.type()),
                            into.stride(d) * size_of(into.type())};
      auto place = static_cast<std::size_t>(rank++);
      for (; place > 0 && dimensions[place - 1].to < added.to; --place)
        dimensions[place] = dimensions[place - 1];
      dimensions[place] = added;
    }
    int last = 0;
    for (int d = 1; d < rank; ++d) {
      dimension& outer = dimensions[static_cast<std::size_t>(last)];
      const dimension& inner = dimensions[static_cast<std::size_t>(d)];
      if (outer.to == inner.to * inner.extent && outer.from == inner.from * inner.extent) {
        outer = {outer.extent * inner.extent, inner.from, inner.to};
      } else {
        dimensions[static_cast<std::size_t>(++last)] = inner;
      }
    }
    if (rank == 0) dimensions[0] = {1, size_of(of.type()), size_of(into.type())};
    rank = last + 1;
  }

  [[nodiscard]] const dimension& innermost() const noexcept {
    return dimensions[static_cast<std::size_t>(rank - 1)];
  }

  /// Calls `row(from, to)` at each start of the innermost loop.
  template <class Row>
  void for_each_row(const std::byte* from, std::byte* to, Row row) const {
    // Counters that carry over, the last of the outer loops fastest.
    std::array<std::int64_t, max_rank> at{};
    const std::span outer(dimensions.data(), static_cast<std::size_t>(rank - 1));
    for (;;) {
      row(from, to);
      std::size_t d = outer.size();
      for (; d > 0; --d) {
        const dimension& loop = outer[d - 1];
        from += loop.from;
        to += loop.to;
        if (++at[d - 1] < loop.extent) break;
        at[d - 1] = 0;
        from -= loop.extent * loop.from;
        to -= loop.extent * loop.to;
      }
      if (d == 0) return;
    }
  }
};

}  // namespace troupe::elementwise
