#include "libraries/rng/cuda/draws.cuh"
#include "libraries/rng/shared/bits_samplers.hpp"

namespace troupe::cuda {

TROUPE_DRAWS_OF(bits_sampler<std::uint32_t>);
TROUPE_DRAWS_OF(bits_sampler<std::uint64_t>);

}  // namespace troupe::cuda
