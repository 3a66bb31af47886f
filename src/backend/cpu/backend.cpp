#include "backend/cpu/backend.hpp"

#include <troupe/core/export.hpp>

// The entry points that a worker looks for in every backend plugin.
extern "C" {

TROUPE_EXPORT const char* troupe_backend_name() { return "cpu"; }

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  using namespace troupe::cpu;
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
  add_memory_convert(table);
  add_memory_copy(table);
  add_memory_fill(table);
  add_rng_bits(table);
  add_rng_continuous(table);
  add_rng_discrete(table);
  add_rng_permutation(table);
}

// Before the worker says that it is ready.
TROUPE_EXPORT void troupe_backend_warm_up(troupe::lane_context& lane,
                                          troupe::result<void>& outcome) {
  outcome = troupe::cpu::warm_up(lane);
}
}
