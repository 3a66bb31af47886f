#pragma once

#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/kernels/indexed.cuh"

#include <troupe/tensor/tensor.hpp>

#include <cub/device/device_select.cuh>

#include <cstdint>

/// Compaction by CUB. The number of kept elements stays on the device.
namespace troupe::cuda {

/// Stores kept elements from `*base` on. Elements beyond its room are dropped.
template <class T>
struct bounded_sink {
  using value_type = T;
  T* first;
  std::int64_t step;
  std::int64_t capacity;
  const std::int64_t* base = nullptr;  ///< null: 0

  [[nodiscard]] static bounded_sink of(const any_tensor& to) {
    return {reinterpret_cast<T*>(to.address()), to.stride(0), to.extent(0)};
  }
  __device__ void store(std::int64_t i, const T& value) const {
    const std::int64_t place = (base == nullptr ? 0 : *base) + i;
    if (place < capacity) first[place * step] = value;
  }
};

/// A source that returns the index itself.
struct own_index {
  using value_type = std::int64_t;
  __device__ std::int64_t operator()(std::int64_t i) const { return i; }
};

/// Keeps `source(i)` for each of `count` indices for which `flag(i)` is not 0, in order.
template <class Source, class Flag, class T>
struct compaction {
  Source source;
  Flag flag;
  bounded_sink<T> sink;
  std::int64_t count;

  /// Enqueues it, and stores the number of kept elements to `number`. Without `memory` it only sets
  /// `bytes` to the size that it needs.
  cudaError_t operator()(void* memory, std::size_t& bytes, std::int64_t* number,
                         cudaStream_t stream) const {
    return cub::DeviceSelect::Flagged(memory, bytes, indexed(source), indexed(flag),
                                      indexed(placed<bounded_sink<T>>{sink}), number, count,
                                      stream);
  }
  [[nodiscard]] result<std::size_t> needed_bytes() const {
    return temporary_bytes("cub::DeviceSelect::Flagged", [&](void* memory, std::size_t& bytes) {
      return (*this)(memory, bytes, nullptr, nullptr);
    });
  }
  [[nodiscard]] result<void> enqueue(void* memory, std::size_t bytes, std::int64_t* number,
                                     cudaStream_t stream) const {
    return check((*this)(memory, bytes, number, stream), "cub::DeviceSelect::Flagged");
  }
};

}  // namespace troupe::cuda
