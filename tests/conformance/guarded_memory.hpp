#pragma once

#include "runner.hpp"

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

/// Memory in which operands of tests lie: before, behind and between their elements there are guard
/// bytes that no request may write, and whose values spoil what is computed from them.
namespace troupe::conformance {

struct guarded_memory {
  any_tensor storage;            ///< all of it
  std::vector<std::byte> image;  ///< its content before a request
  std::vector<std::byte> after;  ///< its content after one; empty before
};

/// A view, and where it begins in its memory.
struct placement {
  std::shared_ptr<guarded_memory> memory;
  any_tensor view;
  std::int64_t first = 0;  ///< in bytes

  /// The element at `offset`, in elements from the view's first, in a copy of the memory.
  [[nodiscard]] std::byte* in(std::vector<std::byte>& bytes, std::int64_t offset) const {
    return bytes.data() + first + offset * size_of(view.type());
  }
};

/// Places such a view in fresh memory of its own, `first` elements behind where the guards end.
[[nodiscard]] placement place(runner& where, dtype type, std::span<const std::int64_t> size,
                              std::span<const std::int64_t> strides, std::int64_t first = 0);

/// The strides of `view` with more room between its rows, its matrices and so on, in multiples of
/// `unit`: in the same order, and each a multiple of the one within.
[[nodiscard]] std::vector<std::int64_t> widened_strides(const any_tensor& view, std::int64_t unit,
                                                        std::mt19937_64& random);

/// Calls `f` with each element's index in row-major order, and its offset from the view's first.
template <class F>
void for_each_offset(const any_tensor& view, F f) {
  const std::int64_t count = view.count();
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t rest = flat;
    std::int64_t offset = 0;
    for (int d = view.rank() - 1; d >= 0; --d) {
      offset += rest % view.extent(d) * view.stride(d);
      rest /= view.extent(d);
    }
    f(static_cast<std::size_t>(flat), offset);
  }
}

}  // namespace troupe::conformance
