#pragma once

#include <troupe/tensor/tensor.hpp>

namespace troupe {

/// A tensor in shared memory. The program reads and writes it in place, and devices copy from and
/// to it without a bounce buffer. Packed, row-major.
///
/// The program may access the elements only while no request that uses them is in flight. Once a
/// request's future is ready, its reads and writes are complete and visible.
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
