#pragma once

#include <troupe/worker/executor.hpp>

/// The executors of the CPU backend, one function per operation family.
namespace troupe::cpu {

void add_blas_batched(operation_table& table);
void add_blas_batched_factor(operation_table& table);
void add_blas_level1(operation_table& table);
void add_blas_level1_reductions(operation_table& table);
void add_blas_level1_rotations(operation_table& table);
void add_blas_level2(operation_table& table);
void add_blas_level2_banded(operation_table& table);
void add_blas_level2_packed(operation_table& table);
void add_blas_level2_symmetric(operation_table& table);
void add_blas_level3(operation_table& table);
void add_blas_level3_symmetric(operation_table& table);
void add_blas_level3_triangular(operation_table& table);

void add_memory_convert(operation_table& table);
void add_memory_copy(operation_table& table);
void add_memory_fill(operation_table& table);

void add_rng_bits(operation_table& table);
void add_rng_continuous(operation_table& table);
void add_rng_discrete(operation_table& table);
void add_rng_permutation(operation_table& table);

/// Runs a small request of each library. OpenBLAS takes its buffers with its first product.
[[nodiscard]] result<void> warm_up(lane_context& lane);

}  // namespace troupe::cpu
