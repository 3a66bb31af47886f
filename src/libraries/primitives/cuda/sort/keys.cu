#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"

namespace troupe::cuda {
namespace {

using primitives::sorting_order;

template <class Key>
__global__ void __launch_bounds__(block_threads)
    make_keys(const Key* from, std::int64_t step, sorting_order<Key> order, Key* to, Key* copy,
              std::int64_t count) {
  for_each_element(count, [&](std::int64_t i) {
    const Key key = order.key_of(from[i * step]);
    to[i] = key;
    copy[i] = key;
  });
}

template <class Key>
__global__ void __launch_bounds__(block_threads)
    make_elements(const Key* from, sorting_order<Key> order, Key* to, std::int64_t step,
                  std::int64_t count) {
  for_each_element(count, [&](std::int64_t i) { to[i * step] = order.bits_of(from[i]); });
}

}  // namespace

template <class Key>
result<void> enqueue_keys(const any_tensor& from, const sorting_order<Key>& order, Key* to,
                          Key* copy, const lane& where) {
  return launch_over(from.extent(0), make_keys<Key>, where.stream(),
                     reinterpret_cast<const Key*>(from.address()), from.stride(0), order, to, copy,
                     from.extent(0));
}

template <class Key>
result<void> enqueue_elements(const Key* from, const sorting_order<Key>& order,
                              const any_tensor& to, const lane& where) {
  return launch_over(to.extent(0), make_elements<Key>, where.stream(), from, order,
                     reinterpret_cast<Key*>(to.address()), to.stride(0), to.extent(0));
}

#define TROUPE_KEYS_OF(Key)                                                                        \
  template result<void> enqueue_keys(const any_tensor&, const sorting_order<Key>&, Key*, Key*,     \
                                     const lane&);                                                 \
  template result<void> enqueue_elements(const Key*, const sorting_order<Key>&, const any_tensor&, \
                                         const lane&)
TROUPE_KEYS_OF(std::uint8_t);
TROUPE_KEYS_OF(std::uint16_t);
TROUPE_KEYS_OF(std::uint32_t);
TROUPE_KEYS_OF(std::uint64_t);
#undef TROUPE_KEYS_OF

}  // namespace troupe::cuda
