#pragma once

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cuda/std/tuple>

#include <limits>
#include <type_traits>

namespace troupe::cuda {
namespace detail {

/// The bits of an element. They are sorted by the key that a `decomposed_by_order` makes of them.
template <class Key>
struct ordered_bits {
  Key bits;
};

/// A "decomposer" of CUB: the only argument that reaches the code that makes keys.
template <class Key>
struct decomposed_by_order {
  primitives::sorting_order<Key> order;
  __host__ __device__ ::cuda::std::tuple<Key&> operator()(ordered_bits<Key>& one) const {
    return {one.bits};
  }
};

}  // namespace detail
}  // namespace troupe::cuda

/// Makes CUB compute keys of elements in an order that is known only when the kernel runs. CUB's
/// own order of floats neither puts −0 before +0 nor NaNs behind all numbers, and a separate pass
/// for keys costs a quarter of the sort. Source: CCCL 3.0.1,
/// cub/block/radix_rank_sort_operations.cuh.
template <class Key>
struct CUB_NS_QUALIFIER::detail::radix::traits_t<troupe::cuda::detail::ordered_bits<Key>, false> {
  using order = troupe::cuda::detail::decomposed_by_order<Key>;
  using bit_ordered_type = Key;
  struct bit_ordered_conversion_policy {
    static __host__ __device__ Key to_bit_ordered(order by, Key bits) {
      return by.order.key_of(bits);
    }
    static __host__ __device__ Key from_bit_ordered(order by, Key key) {
      return by.order.bits_of(key);
    }
  };
  struct bit_ordered_inversion_policy {
    static __host__ __device__ Key inverse(order, Key key) { return static_cast<Key>(~key); }
  };
  template <class, class>
  using digit_extractor_t = ShiftDigitExtractor<Key>;
  template <class>
  static __host__ __device__ ShiftDigitExtractor<Key> digit_extractor(int first, int count, order) {
    return ShiftDigitExtractor<Key>(static_cast<unsigned>(first), static_cast<unsigned>(count));
  }
  static __host__ __device__ Key min_raw_binary_key(order by) { return by.order.bits_of(0); }
  static __host__ __device__ Key max_raw_binary_key(order by) {
    return by.order.bits_of(static_cast<Key>(~Key{0}));
  }
  static __host__ __device__ int default_end_bit(order) {
    return static_cast<int>(sizeof(Key)) * 8;
  }
};

namespace troupe::cuda {
namespace detail {

/// CUB counts in the type of `count`. Fewer than 2^31 elements are sorted faster with 32 bits.
template <class Key, class Value, class Count>
cudaError_t sort(const radix_sort<Key, Value>& what, Count count, void* temporary,
                 std::size_t& bytes, cudaStream_t stream) {
  using bits = ordered_bits<Key>;
  const decomposed_by_order<Key> order{what.order};
  const auto* const keys = reinterpret_cast<const bits*>(what.keys);
  auto* const sorted_keys = reinterpret_cast<bits*>(what.sorted_keys);
  if constexpr (std::is_same_v<Value, no_value>) {
    return cub::DeviceRadixSort::SortKeys(temporary, bytes, keys, sorted_keys, count, order, 0,
                                          what.bits, stream);
  } else {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sorted_keys, what.values,
                                           what.sorted_values, count, order, 0, what.bits, stream);
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
  TRY(detail::sort(*this, nullptr, bytes, nullptr));
  return bytes;
}

template <class Key, class Value>
result<void> radix_sort<Key, Value>::enqueue(void* temporary, std::size_t bytes,
                                             const lane& where) const {
  return detail::sort(*this, temporary, bytes, where.stream());
}

}  // namespace troupe::cuda
