#pragma once

#include "libraries/memory/shared/flat_view.hpp"

#include <cstdint>
#include <span>

namespace troupe::primitives {

/// The rows of a tensor along an axis, by their numbers in row-major order. Kernels use it, too.
struct tensor_rows {
  std::byte* first = nullptr;     ///< null: there is no tensor
  elementwise::flat_view begins;  ///< all dimensions but the axis
  std::int64_t step = 0;          ///< along the axis, in elements
  std::int64_t length = 0;        ///< of a row
  dtype type{};
  int bytes = 0;  ///< the size of an element

  /// A negative axis counts from the last.
  tensor_rows(const any_tensor& t, std::int64_t axis) noexcept {
    if (t.null()) return;
    const auto along = static_cast<int>(axis < 0 ? axis + t.rank() : axis);
    first = t.address();
    begins = elementwise::flat_view::all_but(t, along);
    step = t.stride(along);
    length = t.extent(along);
    type = t.type();
    bytes = static_cast<int>(size_of(t.type()));
  }

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return begins.count; }
  [[nodiscard]] constexpr std::byte* row(std::int64_t number) const noexcept {
    return first + begins.offset(number) * bytes;
  }
  [[nodiscard]] any_tensor view(std::int64_t number) const noexcept {
    return any_tensor::unowned(row(number), type, {length}, std::span(&step, 1));
  }
};

}  // namespace troupe::primitives
