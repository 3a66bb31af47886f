#include "libraries/primitives/cuda/sort/radix_sort.cuh"

namespace troupe::cuda {

template struct radix_sort<std::uint8_t, std::uint32_t>;
template struct radix_sort<std::uint16_t, std::uint32_t>;
template struct radix_sort<std::uint32_t, std::uint32_t>;
template struct radix_sort<std::uint64_t, std::uint32_t>;

}  // namespace troupe::cuda
