#pragma once

#include <troupe/tensor/tensor.hpp>

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <span>

namespace troupe::python {

namespace nb = nanobind;

/// The layout of a tensor, for arrays of other libraries that show it in place. In a worker nothing
/// else of a tensor is known; its maker keeps the memory alive.
struct array_view {
  void* address = nullptr;
  dtype type{};
  int rank = 0;
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};  ///< in elements
  bool read_only = false;
  int ordinal = -1;           ///< the GPU that has the memory; -1: the host has
  std::uintptr_t stream = 0;  ///< the stream of a GPU's work on it

  array_view() = default;
  array_view(const any_tensor& t, void* at, bool reads_only);
  [[nodiscard]] bool packed() const noexcept;
};

/// As a NumPy array. Precondition: the host has the memory.
[[nodiscard]] nb::object numpy_of(const array_view& view);
/// As an object that torch, CuPy and others take: by DLPack and the array interfaces.
[[nodiscard]] nb::object object_of(const array_view& view);

}  // namespace troupe::python
