#include "backend/cuda/backend.hpp"

#include <troupe/core/export.hpp>

// The entry points that a worker looks for in every backend plugin.
extern "C" {

TROUPE_EXPORT const char* troupe_backend_name() { return "cuda-rng"; }

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  using namespace troupe::cuda;
  add_rng_bits(table);
  add_rng_continuous(table);
  add_rng_discrete(table);
  add_rng_permutation(table);
}

// Before the worker says that it is ready, once for each lane that is to be fast at once.
TROUPE_EXPORT void troupe_backend_warm_up(troupe::lane_context& lane,
                                          troupe::result<void>& outcome) {
  outcome = troupe::cuda::warm_up_rng(static_cast<troupe::cuda::lane&>(lane));
}
}
