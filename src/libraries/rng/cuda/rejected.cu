#include "libraries/rng/cuda/draws.cuh"
#include "libraries/rng/shared/continuous_samplers.hpp"

namespace troupe::cuda {

TROUPE_DRAWS_OF(gamma_sampler<float>);
TROUPE_DRAWS_OF(gamma_sampler<double>);
TROUPE_DRAWS_OF(beta_sampler<float>);
TROUPE_DRAWS_OF(beta_sampler<double>);

}  // namespace troupe::cuda
