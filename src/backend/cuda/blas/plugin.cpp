#include "backend/cuda/backend.hpp"

#include <troupe/core/export.hpp>

// The entry points that a worker looks for in every backend plugin.
extern "C" {

TROUPE_EXPORT const char* troupe_backend_name() { return "cuda-blas"; }

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  using namespace troupe::cuda;
  add_blas_batched(table);
  add_blas_batched_factor(table);
  add_blas_level1(table);
  add_blas_level1_reductions(table);
  add_blas_level1_rotations(table);
  add_blas_level2(table);
  add_blas_level2_banded(table);
  add_blas_level2_packed(table);
  add_blas_level2_symmetric(table);
  add_blas_level3(table);
  add_blas_level3_symmetric(table);
  add_blas_level3_triangular(table);
}

// Before the worker says that it is ready, once for each lane that is to be fast at once.
TROUPE_EXPORT void troupe_backend_warm_up(troupe::lane_context& lane,
                                          troupe::result<void>& outcome) {
  outcome = troupe::cuda::warm_up_blas(static_cast<troupe::cuda::lane&>(lane));
}
}
