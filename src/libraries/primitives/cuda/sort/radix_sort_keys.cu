#include "libraries/primitives/cuda/sort/radix_sort.cuh"

namespace troupe::cuda {

template struct radix_sort<std::uint8_t, no_value>;
template struct radix_sort<std::uint16_t, no_value>;
template struct radix_sort<std::uint32_t, no_value>;
template struct radix_sort<std::uint64_t, no_value>;

}  // namespace troupe::cuda
