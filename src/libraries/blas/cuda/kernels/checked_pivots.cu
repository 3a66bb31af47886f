#include "backend/cuda/context/late_failure.cuh"
#include "libraries/blas/cuda/kernels/checked_pivots.hpp"
#include "libraries/blas/cuda/kernels/launch.cuh"

namespace troupe::cuda {
namespace {

using place = unsigned long long;
constexpr place nowhere = ~place{0};

__global__ void __launch_bounds__(threads_per_block)
    admit(const std::int32_t* pivots, std::int32_t* to, std::int64_t n, std::int64_t count,
          place* first_bad) {
  for (std::int64_t flat = first_step(); flat < count; flat += step_width()) {
    const std::int32_t pivot = pivots[flat];
    const bool good = pivot >= 1 && pivot <= n;
    to[flat] = good ? pivot : static_cast<std::int32_t>(flat % n + 1);
    // The lowest, so that the message is the same every time.
    if (!good) atomicMin(first_bad, static_cast<place>(flat));
  }
}

__global__ void report(const std::int32_t* pivots, std::int64_t n, const place* first_bad,
                       late_failure failure) {
  if (threadIdx.x != 0 || *first_bad == nowhere) return;
  const auto flat = static_cast<std::int64_t>(*first_bad);
  failure.write(errc::invalid_argument, "pivots[", flat / n, ", ", flat % n, "] is ", pivots[flat],
                ", not within 1 and ", n);
}

}  // namespace

result<void> checked_pivots::before(lane& where) {
  TRY(check(cudaMemsetAsync(first_bad_, 0xff, sizeof(place), where.stream()), "cudaMemsetAsync"));
  const std::int64_t count = given_.count();
  return launch(where, "admit", admit, blocks_for(where, count), given_.data<std::int32_t>(),
                admitted_.get(), given_.extent(1), count, first_bad_.get());
}

result<void> checked_pivots::after(lane& where) {
  return launch(where, "report", report, 1, given_.data<std::int32_t>(), given_.extent(1),
                first_bad_.get(), failure_);
}

}  // namespace troupe::cuda
