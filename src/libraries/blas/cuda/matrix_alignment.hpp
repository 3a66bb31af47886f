#pragma once

#include <cstdint>
#include <initializer_list>

namespace troupe::cuda {

/// What all these numbers of bytes are multiples of: a power of two, up to what kernels ask for at
/// most. Source: cuBLAS documentation, cublasLtMatmulPreferenceAttributes_t.
[[nodiscard]] inline std::int64_t common_alignment(
    std::initializer_list<std::uintptr_t> numbers) noexcept {
  std::uintptr_t bits = 256;
  for (const std::uintptr_t one : numbers)
    bits |= one;
  return static_cast<std::int64_t>(bits & ~(bits - 1));
}

/// How a column-major matrix is aligned, in bytes. A kernel reads whole vectors from the begin of
/// every column of every product, so what it may use divides the address, and the steps from one
/// column and from one product to the next.
struct stored_columns {
  const void* first;
  std::int64_t rows, columns;
  std::int64_t ld, distance;  ///< in elements; distance 0 for one matrix
  std::int64_t element_bytes;

  [[nodiscard]] std::int64_t alignment() const noexcept {
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<std::uintptr_t>(elements * element_bytes);
    };
    // One row without gaps is as good as one column.
    const bool steps = columns > 1 && (rows > 1 || ld > 1);
    return common_alignment(
        {reinterpret_cast<std::uintptr_t>(first), steps ? bytes(ld) : 0, bytes(distance)});
  }
};

}  // namespace troupe::cuda
