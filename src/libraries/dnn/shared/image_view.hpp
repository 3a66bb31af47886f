#pragma once

#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <initializer_list>

namespace troupe::dnn {

/// The layout of a tensor [n, c, space…], with three dimensions of space: missing ones come first
/// and have extent 1.
struct image_view {
  std::byte* at = nullptr;
  std::int64_t n_step = 0;  ///< in elements
  std::int64_t c_step = 0;
  std::int64_t steps[3] = {};

  image_view() = default;
  explicit image_view(const any_tensor& t) noexcept
      : at(t.address()), n_step(t.stride(0)), c_step(t.stride(1)) {
    for (int d = 2; d < t.rank(); ++d)
      steps[d + 3 - t.rank()] = t.stride(d);
  }
  [[nodiscard]] constexpr bool given() const noexcept { return at != nullptr; }
  template <class T>
  [[nodiscard]] constexpr T* elements() const noexcept {
    return reinterpret_cast<T*>(at);
  }
};

/// The extents of such a tensor.
struct image_extents {
  std::int64_t n = 0;
  std::int64_t c = 0;
  std::int64_t space[3] = {1, 1, 1};

  image_extents() = default;
  explicit image_extents(const any_tensor& t) noexcept : n(t.extent(0)), c(t.extent(1)) {
    for (int d = 2; d < t.rank(); ++d)
      space[d + 3 - t.rank()] = t.extent(d);
  }
  /// Places in the space of one image.
  [[nodiscard]] constexpr std::int64_t places() const noexcept {
    return space[0] * space[1] * space[2];
  }
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return n * c * places(); }
};

/// Makes one of neighbouring dimensions of space where all of these views go on in equal steps: the
/// last dimension is as long as it can be, below 2³¹.
inline void merge_space(image_extents& of, std::initializer_list<image_view*> views) noexcept {
  for (const int outer : {1, 0}) {
    // The inner one is the last, because those between have become 1.
    if (of.space[outer] == 1) continue;
    if (of.space[2] * of.space[outer] >= std::int64_t{1} << 31) return;
    for (const image_view* v : views) {
      if (of.space[2] != 1 && v->steps[outer] != v->steps[2] * of.space[2]) return;
    }
    for (image_view* v : views) {
      if (of.space[2] == 1) v->steps[2] = v->steps[outer];
      v->steps[outer] = 0;
    }
    of.space[2] *= of.space[outer];
    of.space[outer] = 1;
  }
}

/// Calls `f` with a value of the type of elements, one that images can have.
template <class F>
auto for_image_type(dtype type, F f) {
  switch (type) {
    case dtype::f64:
      return f(double{});
    case dtype::f16:
      return f(f16{});
    case dtype::bf16:
      return f(bf16{});
    default:
      return f(float{});
  }
}

}  // namespace troupe::dnn
