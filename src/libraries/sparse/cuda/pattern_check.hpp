#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/late_failure.hpp"
#include "libraries/sparse/shared/pattern_faults.hpp"

#include <troupe/base/result.hpp>

namespace troupe::cuda {

/// What `first_fault` holds where nothing is wrong: every byte of it is the same.
inline constexpr int no_fault_byte = 0x7f;
inline constexpr std::int64_t no_fault = 0x7f7f7f7f7f7f7f7f;

/// Enqueues the checks of a pattern: the number of the first that finds a fault goes to
/// `first_fault`, in device memory.
[[nodiscard]] result<void> enqueue_pattern_check(const sparse_matrix& a,
                                                 sparse::pattern_claim claim,
                                                 unsigned long long* first_fault,
                                                 cudaStream_t stream);
/// The same of offsets alone, where whoever reads the indices notes what is wrong with them.
[[nodiscard]] result<void> enqueue_offsets_check(const sparse_matrix& a,
                                                 unsigned long long* first_fault,
                                                 cudaStream_t stream);
/// Enqueues the failure for what they found; the last that an executor enqueues.
[[nodiscard]] result<void> enqueue_pattern_report(const sparse_matrix& a,
                                                  sparse::pattern_claim claim,
                                                  const unsigned long long* first_fault,
                                                  late_failure failure, cudaStream_t stream);

}  // namespace troupe::cuda
