#include "libraries/rng/cuda/draws.cuh"
#include "libraries/rng/shared/continuous_samplers.hpp"

namespace troupe::cuda {

TROUPE_DRAWS_OF(uniform_sampler<float>);
TROUPE_DRAWS_OF(uniform_sampler<double>);
TROUPE_DRAWS_OF(normal_sampler<float>);
TROUPE_DRAWS_OF(normal_sampler<double>);
TROUPE_DRAWS_OF(log_normal_sampler<float>);
TROUPE_DRAWS_OF(log_normal_sampler<double>);
TROUPE_DRAWS_OF(exponential_sampler<float>);
TROUPE_DRAWS_OF(exponential_sampler<double>);
TROUPE_DRAWS_OF(cauchy_sampler<float>);
TROUPE_DRAWS_OF(cauchy_sampler<double>);

}  // namespace troupe::cuda
