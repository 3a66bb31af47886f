#pragma once

#include "backend/cuda/context/failure.hpp"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <limits>
#include <type_traits>

namespace troupe::cuda {
namespace detail {

/// CUB counts in the type of `count`: fewer than 2^31 elements are sorted faster in 32 bits.
template <class Key, class Value, class Count>
cudaError_t sort(const radix_sort<Key, Value>& what, Count count, void* temporary,
                 std::size_t& bytes, cudaStream_t stream) {
  if constexpr (std::is_same_v<Value, no_value>) {
    return cub::DeviceRadixSort::SortKeys(temporary, bytes, what.keys, what.sorted_keys, count, 0,
                                          static_cast<int>(sizeof(Key)) * 8, stream);
  } else {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, what.keys, what.sorted_keys,
                                           what.values, what.sorted_values, count, 0,
                                           static_cast<int>(sizeof(Key)) * 8, stream);
  }
}

template <class Key, class Value>
result<void> sort(const radix_sort<Key, Value>& what, void* temporary, std::size_t& bytes,
                  cudaStream_t stream) {
  const bool few = what.count <= std::numeric_limits<std::int32_t>::max();
  const cudaError_t code =
      few ? sort(what, static_cast<std::uint32_t>(what.count), temporary, bytes, stream)
          : sort(what, static_cast<std::uint64_t>(what.count), temporary, bytes, stream);
  return check(code, "cub::DeviceRadixSort");
}

}  // namespace detail

template <class Key, class Value>
result<std::size_t> radix_sort<Key, Value>::temporary_bytes() const {
  std::size_t bytes = 0;
  if (auto done = detail::sort(*this, nullptr, bytes, nullptr); !done) {
    return std::move(done).error();
  }
  return bytes;
}

template <class Key, class Value>
result<void> radix_sort<Key, Value>::enqueue(void* temporary, std::size_t bytes,
                                             const lane& where) const {
  return detail::sort(*this, temporary, bytes, where.stream());
}

}  // namespace troupe::cuda
