#include "libraries/rng/cuda/draws.cuh"
#include "libraries/rng/shared/discrete_samplers.hpp"

namespace troupe::cuda {

TROUPE_DRAWS_OF(integer_sampler<std::uint8_t>);
TROUPE_DRAWS_OF(integer_sampler<std::uint16_t>);
TROUPE_DRAWS_OF(integer_sampler<std::uint32_t>);
TROUPE_DRAWS_OF(integer_sampler<std::uint64_t>);
TROUPE_DRAWS_OF(bernoulli_sampler<std::uint8_t>);
TROUPE_DRAWS_OF(bernoulli_sampler<std::int32_t>);
TROUPE_DRAWS_OF(bernoulli_sampler<float>);
TROUPE_DRAWS_OF(bernoulli_sampler<double>);
TROUPE_DRAWS_OF(poisson_sampler<std::int32_t>);
TROUPE_DRAWS_OF(poisson_sampler<std::uint32_t>);
TROUPE_DRAWS_OF(poisson_sampler<std::int64_t>);
TROUPE_DRAWS_OF(discrete_sampler<std::int32_t>);
TROUPE_DRAWS_OF(discrete_sampler<std::int64_t>);

}  // namespace troupe::cuda
