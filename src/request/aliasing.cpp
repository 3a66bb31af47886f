#include "request/aliasing.hpp"

#include <troupe/request/argument_checks.hpp>

#include <array>
#include <cstddef>

namespace troupe {
namespace {

/// The dimensions of two views that step through memory with the same strides, largest first.
struct common_strides {
  struct dimension {
    std::int64_t stride = 0;
    std::int64_t a = 1;  ///< extent of either view
    std::int64_t b = 1;
  };
  std::array<dimension, std::size_t{2} * max_rank> dimensions;
  std::size_t used = 0;

  void add(const any_tensor& view, std::int64_t dimension::* extent) {
    for (int d = 0; d < view.rank(); ++d) {
      if (view.extent(d) == 1) continue;
      std::size_t place = 0;
      while (place < used && dimensions[place].stride > view.stride(d))
        ++place;
      if (place == used || dimensions[place].stride != view.stride(d)) {
        for (std::size_t i = used++; i > place; --i)
          dimensions[i] = dimensions[i - 1];
        dimensions[place] = {.stride = view.stride(d)};
      }
      dimensions[place].*extent *= view.extent(d);
    }
  }

  /// True if each dimension steps over everything that the smaller ones reach, in both views: then
  /// an element has only one place in the lattice.
  [[nodiscard]] bool nested() const noexcept {
    std::int64_t reach_a = 0;
    std::int64_t reach_b = 0;
    for (std::size_t i = used; i-- > 0;) {
      const dimension& d = dimensions[i];
      if (d.stride <= reach_a || d.stride <= reach_b) return false;
      reach_a += d.stride * (d.a - 1);
      reach_b += d.stride * (d.b - 1);
    }
    return true;
  }

  /// True if the views meet; `offset` is from the first element of a to that of b.
  [[nodiscard]] bool meet(std::size_t from, std::int64_t offset) const noexcept {
    if (from == used) return offset == 0;
    const dimension& d = dimensions[from];
    std::int64_t steps = offset / d.stride;
    std::int64_t rest = offset % d.stride;
    if (rest < 0) {
      rest += d.stride;
      --steps;
    }
    // b begins `steps` ahead of a, or one more if it runs over the end of a step.
    const auto ranges_meet = [&](std::int64_t ahead) { return ahead < d.a && -ahead < d.b; };
    return (ranges_meet(steps) && meet(from + 1, rest)) ||
           (ranges_meet(steps + 1) && meet(from + 1, rest - d.stride));
  }
};

}  // namespace

bool share_elements(const any_tensor& a, const any_tensor& b) noexcept {
  // No view exceeds its buffer. A worker's views have no buffers: there, only their reach counts.
  if (a.buffer() && b.buffer() && a.buffer().get() != b.buffer().get()) return false;
  if (!a.overlaps(b)) return false;
  if (a.type() != b.type()) return true;
  const std::ptrdiff_t distance = b.address() - a.address();
  if (distance % size_of(a.type()) != 0) return true;
  common_strides both;
  both.add(a, &common_strides::dimension::a);
  both.add(b, &common_strides::dimension::b);
  if (!both.nested()) return true;
  return both.meet(0, distance / size_of(a.type()));
}

}  // namespace troupe
