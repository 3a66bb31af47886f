#include "backend/cuda/rng/draws.cuh"
#include "backend/rng/continuous_samplers.hpp"

namespace troupe::cuda {

TROUPE_DRAWS_OF(gamma_sampler<float>);
TROUPE_DRAWS_OF(gamma_sampler<double>);
TROUPE_DRAWS_OF(beta_sampler<float>);
TROUPE_DRAWS_OF(beta_sampler<double>);

}  // namespace troupe::cuda
