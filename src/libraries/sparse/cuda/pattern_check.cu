#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/kernels/report.cuh"
#include "libraries/sparse/cuda/pattern_check.hpp"

namespace troupe::cuda {
namespace {

__global__ void find_first_fault(sparse::pattern_checks checks, std::int64_t number,
                                 unsigned long long* first_fault) {
  const std::int64_t i = thread_number();
  if (i < number && checks.check(i).what != sparse::pattern_fault::kind::none)
    atomicMin(first_fault, static_cast<unsigned long long>(i));
}

__global__ void report_fault(pattern_report report, late_failure failure) {
  (void)report.write(failure);
}

/// Enqueues the first `number` checks.
result<void> enqueue_checks(const sparse::pattern_checks& checks, std::int64_t number,
                            unsigned long long* first_fault, cudaStream_t stream) {
  TRY(check(cudaMemsetAsync(first_fault, no_fault_byte, sizeof *first_fault, stream),
            "cudaMemsetAsync"));
  return launch_over(number, find_first_fault, stream, checks, number, first_fault);
}

}  // namespace

result<void> enqueue_pattern_check(const sparse_matrix& a, sparse::pattern_claim claim,
                                   unsigned long long* first_fault, cudaStream_t stream) {
  const sparse::pattern_checks checks(sparse::pattern_of(a), claim);
  return enqueue_checks(checks, checks.number(), first_fault, stream);
}

result<void> enqueue_offsets_check(const sparse_matrix& a, unsigned long long* first_fault,
                                   cudaStream_t stream) {
  return enqueue_checks({sparse::pattern_of(a), sparse::pattern_claim::places}, a.offsets.extent(0),
                        first_fault, stream);
}

result<void> enqueue_pattern_report(const sparse_matrix& a, sparse::pattern_claim claim,
                                    const unsigned long long* first_fault, late_failure failure,
                                    cudaStream_t stream) {
  return launch(report_fault, 1, 1, stream, pattern_report(a, claim, first_fault), failure);
}

}  // namespace troupe::cuda
