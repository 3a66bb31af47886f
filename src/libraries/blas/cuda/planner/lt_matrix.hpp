#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cstdint>
#include <initializer_list>

namespace troupe::cuda {

/// The largest power of two that divides all these numbers of bytes, up to what kernels ask for at
/// most. Source: cuBLAS documentation, cublasLtMatmulPreferenceAttributes_t.
[[nodiscard]] inline std::int64_t common_alignment(
    std::initializer_list<std::uintptr_t> numbers) noexcept {
  std::uintptr_t bits = 256;
  for (const std::uintptr_t one : numbers)
    bits |= one;
  return static_cast<std::int64_t>(bits & ~(bits - 1));
}

/// A column-major matrix, or a batch of them, as it is described to cuBLASLt.
struct lt_matrix {
  dtype type;
  std::int64_t rows, columns;
  std::int64_t ld;
  std::int64_t distance;   ///< to the next of a batch, in elements; 0 for one matrix
  std::int64_t alignment;  ///< bytes

  /// A kernel reads whole vectors from the begin of every column of every product, so what it may
  /// use divides the address, and the steps from one column and from one product to the next.
  lt_matrix(const void* first, dtype of, std::int64_t m, std::int64_t n, std::int64_t leading,
            std::int64_t to_next = 0) noexcept
      : type(of), rows(m), columns(n), ld(leading), distance(to_next) {
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<std::uintptr_t>(elements * size_of(type));
    };
    // One row without gaps is as good as one column.
    const bool steps = columns > 1 && (rows > 1 || ld > 1);
    alignment = common_alignment(
        {reinterpret_cast<std::uintptr_t>(first), steps ? bytes(ld) : 0, bytes(distance)});
  }

  /// True if cuBLASLt describes both alike; where they lie is no part of a description.
  [[nodiscard]] bool is_stored_as(const lt_matrix& other) const noexcept {
    return type == other.type && rows == other.rows && columns == other.columns && ld == other.ld &&
           distance == other.distance;
  }
};

}  // namespace troupe::cuda
