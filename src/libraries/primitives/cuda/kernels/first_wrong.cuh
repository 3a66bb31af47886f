#pragma once

#include "backend/cuda/context/late_failure.cuh"
#include "base/try.hpp"
#include "libraries/primitives/cuda/kernels/grid.cuh"

#include <cstdint>

/// Checks of data that only kernels see. The first wrong element fails the request.
namespace troupe::cuda {

/// The initial value of `first_wrong`: every byte is equal, so that a memset stores it.
inline constexpr int none_wrong_byte = 0x7f;
inline constexpr std::int64_t none_wrong = 0x7f7f7f7f7f7f7f7f;

/// Finds the first wrong element. `Checked` has `number()`, `wrong(i)` and `write_failure(i,
/// failure)`.
template <class Checked>
__global__ void __launch_bounds__(block_threads)
    find_first_wrong(Checked checked, unsigned long long* first_wrong) {
  for_each_element(checked.number(), [&](std::int64_t i) {
    if (checked.wrong(i)) atomicMin(first_wrong, static_cast<unsigned long long>(i));
  });
}

template <class Checked>
__global__ void report_first_wrong(Checked checked, const unsigned long long* first_wrong,
                                   late_failure failure) {
  const auto found = static_cast<std::int64_t>(*first_wrong);
  if (found != none_wrong) checked.write_failure(found, failure);
}

/// Enqueues the check, which must be the last work of an executor. `first_wrong` is memory for the
/// index.
template <class Checked>
[[nodiscard]] result<void> enqueue_check(const Checked& checked, unsigned long long* first_wrong,
                                         late_failure failure, cudaStream_t stream) {
  TRY(check(cudaMemsetAsync(first_wrong, none_wrong_byte, sizeof *first_wrong, stream),
            "cudaMemsetAsync"));
  TRY(launch_over(checked.number(), find_first_wrong<Checked>, stream, checked, first_wrong));
  return launch(report_first_wrong<Checked>, 1, 1, stream, checked, first_wrong, failure);
}

}  // namespace troupe::cuda
