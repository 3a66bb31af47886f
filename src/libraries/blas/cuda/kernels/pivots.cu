#include "backend/cuda/context/late_failure.cuh"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/launch.cuh"
#include "libraries/blas/cuda/kernels/pivots.hpp"

namespace troupe::cuda {
namespace {

using place = unsigned long long;  // what atomicMin takes of 64 bits
static_assert(sizeof(place) == sizeof(std::uint64_t));
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

result<void> admit_pivots(lane& where, const any_tensor& pivots, std::int32_t* to,
                          std::uint64_t* first_bad) {
  TRY(check(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, where.stream()),
            "cudaMemsetAsync"));
  const std::int64_t count = pivots.count();
  return launch(where, "admit", admit, blocks_for(where, count), pivots.data<std::int32_t>(), to,
                pivots.extent(1), count, reinterpret_cast<place*>(first_bad));
}

result<void> report_pivots(lane& where, const any_tensor& pivots, const std::uint64_t* first_bad,
                           late_failure failure) {
  return launch(where, "report", report, 1, pivots.data<std::int32_t>(), pivots.extent(1),
                reinterpret_cast<const place*>(first_bad), failure);
}

}  // namespace troupe::cuda
