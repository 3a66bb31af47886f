#pragma once

#include "libraries/sparse/cuda/cusparse.hpp"
#include "libraries/sparse/cuda/limits.hpp"

#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstring>

/// Factors and dense matrices in cuSPARSE's form.
namespace troupe::cuda {

/// A factor in host memory, in the type of cuSPARSE's arithmetic.
class host_factor {
 public:
  host_factor(const scalar& value, dtype type) noexcept { take(value, type); }
  [[nodiscard]] const void* address() const noexcept { return bytes_.data(); }

 private:
  void take(const scalar& value, dtype type) noexcept {
    switch (type) {
      case dtype::f64:
        return put(value.as<double>());
      case dtype::c64:
        return put(value.as<std::complex<float>>());
      case dtype::c128:
        return put(value.as<std::complex<double>>());
      default:
        return put(value.as<float>());
    }
  }
  template <class T>
  void put(T value) noexcept {
    std::memcpy(bytes_.data(), &value, sizeof value);
  }
  alignas(16) std::array<std::byte, 16> bytes_{};
};

[[nodiscard]] inline bool is_row_major(const any_tensor& t) noexcept {
  return t.stride(1) == 1 || (t.extent(1) == 1 && t.stride(0) != 1);
}
/// The distance between rows, or between columns; at least their length.
[[nodiscard]] inline std::int64_t leading(const any_tensor& t, bool row_major) noexcept {
  const int across = row_major ? 0 : 1;
  const std::int64_t along = t.extent(1 - across);
  // A single row or column may have any stride.
  return t.extent(across) > 1 ? t.stride(across) : std::max<std::int64_t>(along, 1);
}

using limits::cusparse::has_square_blocks;
using limits::cusparse::is_aligned;

/// Describes a dense matrix or its transpose, in an order.
[[nodiscard]] inline result<void> describe(const any_tensor& t, bool transposed,
                                           cusparseOrder_t order, matrix_descriptor& to,
                                           cudaStream_t stream) {
  return check(
      cusparseCreateDnMat(to.place(), t.extent(transposed ? 1 : 0), t.extent(transposed ? 0 : 1),
                          leading(t, is_row_major(t)), t.address(), cusparse_type(t.type()), order),
      "cusparseCreateDnMat", stream);
}

}  // namespace troupe::cuda
