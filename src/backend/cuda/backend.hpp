#pragma once

#include "backend/cuda/lane.hpp"

#include <troupe/worker/executor.hpp>

/// The executors of the CUDA backend, one function per operation family.
namespace troupe::cuda {

void add_fault_inject(operation_table& table);
void add_fault_spin_until(operation_table& table);
void add_lane_launch(operation_table& table);

void add_memory_convert(operation_table& table);
void add_memory_copy(operation_table& table);
void add_memory_fill(operation_table& table);

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

void add_rng_bits(operation_table& table);
void add_rng_continuous(operation_table& table);
void add_rng_discrete(operation_table& table);
void add_rng_permutation(operation_table& table);

/// Loads the kernels of this plugin into the current context, ahead of their first use: one that is
/// loaded only then may have to wait until those that run have ended.
[[nodiscard]] result<void> load_kernels();

/// Enqueues a little of what a first request would otherwise wait for on this lane: handles,
/// workspace, and kernels that are loaded when they are first used. Uses the lane's workspace only.
[[nodiscard]] result<void> warm_up_memory(lane& where);
[[nodiscard]] result<void> warm_up_blas(lane& where);
[[nodiscard]] result<void> warm_up_rng(lane& where);

}  // namespace troupe::cuda
