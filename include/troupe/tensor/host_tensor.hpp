#pragma once

#include <troupe/tensor/tensor.hpp>

namespace troupe {

/// A tensor in shared memory that the program reads and writes in place and that devices copy
/// from and to without a bounce. Packed, row-major.
///
/// The program may touch the elements only while no request that uses them is in flight: after a
/// request's future is ready its reads and writes are complete and visible.
template <element T>
class host_tensor : public tensor<T> {
 public:
  host_tensor() = default;
  explicit host_tensor(any_tensor view) noexcept : tensor<T>(std::move(view)) {}

  [[nodiscard]] std::span<T> elements() const noexcept {
    return {this->data(), static_cast<std::size_t>(this->count())};
  }
  [[nodiscard]] T& operator[](std::int64_t i) const noexcept { return this->data()[i]; }
};

}  // namespace troupe
