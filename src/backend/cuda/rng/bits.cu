#include "backend/cuda/rng/draws.cuh"
#include "backend/rng/bits_samplers.hpp"

namespace troupe::cuda {

TROUPE_DRAWS_OF(bits_sampler<std::uint32_t>);
TROUPE_DRAWS_OF(bits_sampler<std::uint64_t>);

}  // namespace troupe::cuda
