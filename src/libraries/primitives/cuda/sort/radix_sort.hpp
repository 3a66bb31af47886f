#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/primitives/shared/key_order.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>

/// Sorts elements by their keys with CUB, and converts between elements and keys. Compiled for each
/// width of keys, without values and with values of 4 and 8 bytes.
namespace troupe::cuda {

/// The value type of a sort without values.
struct no_value {};

/// The packed operands of a sort; the first two are not written. Keys are elements: CUB's kernels
/// convert them in registers.
template <class Key, class Value>
struct radix_sort {
  primitives::sorting_order<Key> order;
  const Key* keys = nullptr;
  const Value* values = nullptr;
  Key* sorted_keys = nullptr;
  Value* sorted_values = nullptr;
  std::int64_t count = 0;
  int bits = static_cast<int>(sizeof(Key)) * 8;  ///< the lowest ones of keys; others are 0

  /// The size of the temporary memory.
  [[nodiscard]] result<std::size_t> temporary_bytes() const;
  [[nodiscard]] result<void> enqueue(void* temporary, std::size_t bytes, const lane& where) const;
};

/// Enqueues to[i] = copy[i] = the key of from[i].
template <class Key>
[[nodiscard]] result<void> enqueue_keys(const any_tensor& from,
                                        const primitives::sorting_order<Key>& order, Key* to,
                                        Key* copy, const lane& where);
/// Enqueues to[i] = the element whose key is from[i].
template <class Key>
[[nodiscard]] result<void> enqueue_elements(const Key* from,
                                            const primitives::sorting_order<Key>& order,
                                            const any_tensor& to, const lane& where);

}  // namespace troupe::cuda
