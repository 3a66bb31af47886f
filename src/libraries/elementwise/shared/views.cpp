#include "libraries/elementwise/shared/views.hpp"

#include <array>
#include <span>

namespace troupe::elementwise {
namespace {

/// Dimensions that a view is made of, outermost first.
class dimensions {
 public:
  void add(std::int64_t extent, std::int64_t stride) noexcept {
    extents_[rank_] = extent;
    strides_[rank_++] = stride;
  }
  void add_ones(int count) noexcept {
    for (int i = 0; i < count; ++i)
      add(1, 1);
  }
  void add(const any_tensor& t, int first, int last) noexcept {
    for (int d = first; d < last; ++d)
      add(t.extent(d), t.stride(d));
  }
  /// From `offset` elements after the first of `t`.
  [[nodiscard]] any_tensor of(const any_tensor& t, std::int64_t offset = 0) const noexcept {
    return any_tensor::unowned(t.address() + offset * size_of(t.type()), t.type(),
                               shape(std::span(extents_).first(rank_)),
                               std::span(strides_).first(rank_), t.space());
  }

 private:
  std::array<std::int64_t, max_rank> extents_{};
  std::array<std::int64_t, max_rank> strides_{};
  std::size_t rank_ = 0;
};

}  // namespace

any_tensor with_trailing_ones(const any_tensor& t, int count) {
  dimensions made;
  made.add(t, 0, t.rank());
  made.add_ones(count);
  return made.of(t);
}

any_tensor along(const any_tensor& t, int axis, int rank) {
  dimensions made;
  made.add_ones(axis);
  made.add(t, 0, 1);
  made.add_ones(rank - axis - 1);
  return made.of(t);
}

any_tensor split(const any_tensor& t, int axis, std::int64_t parts) {
  const std::int64_t within = parts == 0 ? 0 : t.extent(axis) / parts;
  dimensions made;
  made.add(t, 0, axis);
  made.add(parts, t.stride(axis) * within);
  made.add(within, t.stride(axis));
  made.add(t, axis + 1, t.rank());
  return made.of(t);
}

any_tensor with_one_at(const any_tensor& t, int axis) {
  dimensions made;
  made.add(t, 0, axis);
  made.add_ones(1);
  made.add(t, axis, t.rank());
  return made.of(t);
}

any_tensor of_last(const any_tensor& t, std::int64_t first, std::int64_t step, std::int64_t count) {
  const int last = t.rank() - 1;
  const std::int64_t offset = count == 0 ? 0 : first * t.stride(last);
  dimensions made;
  made.add(t, 0, last);
  made.add(count, step * t.stride(last));
  return made.of(t, offset);
}

}  // namespace troupe::elementwise
