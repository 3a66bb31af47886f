#include "backend/cuda/backend.hpp"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/rng/draws.hpp"
#include "backend/random/bits_samplers.hpp"

namespace troupe::cuda {

void add_rng_bits(operation_table& table) { add<rng::bits>(table, draw_request<rng::bits>); }

}  // namespace troupe::cuda
