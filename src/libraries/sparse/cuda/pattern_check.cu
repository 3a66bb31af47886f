#include "libraries/sparse/cuda/in_order.hpp"
#include "libraries/sparse/cuda/kernels/grid.cuh"
#include "libraries/sparse/cuda/kernels/report.cuh"
#include "libraries/sparse/cuda/pattern_check.hpp"

namespace troupe::cuda {
namespace {

__global__ void find_first_fault(sparse::pattern_checks checks, unsigned long long* first_fault) {
  const std::int64_t i = thread_number();
  if (i < checks.number() && checks.check(i).what != sparse::pattern_fault::kind::none)
    atomicMin(first_fault, static_cast<unsigned long long>(i));
}

__global__ void report_fault(pattern_report report, late_failure failure) {
  (void)report.write(failure);
}

}  // namespace

result<void> enqueue_pattern_check(const sparse_matrix& a, sparse::pattern_claim claim,
                                   unsigned long long* first_fault, cudaStream_t stream) {
  auto done = check(cudaMemsetAsync(first_fault, no_fault_byte, sizeof *first_fault, stream),
                    "cudaMemsetAsync");
  const sparse::pattern_checks checks(sparse::pattern_of(a), claim);
  if (!done) return done;
  return launch_over(checks.number(), find_first_fault, stream, checks, first_fault);
}

result<void> enqueue_pattern_report(const sparse_matrix& a, sparse::pattern_claim claim,
                                    const unsigned long long* first_fault, late_failure failure,
                                    cudaStream_t stream) {
  return launch(report_fault, 1, 1, stream, pattern_report(a, claim, first_fault), failure);
}

}  // namespace troupe::cuda
