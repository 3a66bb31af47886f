#include "backend/cuda/blas/combine.hpp"
#include "backend/cuda/blas/launch.cuh"
#include "backend/cuda/blas/pivots.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

/// A batch to spoil, whose elements are parts of `Part` (float or double), one or two each.
template <class Part>
struct spoiled_batch {
  Part* first = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t batch = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int parts = 1;
};

template <class Part>
__global__ void __launch_bounds__(threads_per_block)
    admit(const std::int32_t* pivots, std::int32_t* to, std::int64_t n, std::int64_t count,
          spoiled_batch<Part> spoiled) {
  for (std::int64_t b = blockIdx.x; b < count; b += gridDim.x) {
    int bad = 0;
    for (std::int64_t i = threadIdx.x; i < n; i += threads_per_block) {
      const std::int32_t pivot = pivots[b * n + i];
      const bool good = pivot >= 1 && pivot <= n;
      if (!good) bad = 1;
      to[b * n + i] = good ? pivot : static_cast<std::int32_t>(i + 1);
    }
    if (__syncthreads_or(bad) == 0 || spoiled.first == nullptr) continue;
    const Part nan = static_cast<Part>(__int_as_float(0x7fffffff));
    for (std::int64_t flat = threadIdx.x; flat < spoiled.rows * spoiled.columns;
         flat += threads_per_block) {
      const std::int64_t at = b * spoiled.batch + flat % spoiled.rows * spoiled.row +
                              flat / spoiled.rows * spoiled.column;
      for (int part = 0; part < spoiled.parts; ++part)
        spoiled.first[at * spoiled.parts + part] = nan;
    }
  }
}

template <class Part>
result<void> admit_as(lane& where, const any_tensor& pivots, std::int32_t* to,
                      const any_tensor* spoiled) {
  spoiled_batch<Part> spoil;
  if (spoiled != nullptr) {
    const batch_extents extents = extents_of(*spoiled);
    const batch_place place = place_of(*spoiled);
    spoil = {.first = reinterpret_cast<Part*>(place.first),
             .row = place.row,
             .column = place.column,
             .batch = place.batch,
             .rows = extents.rows,
             .columns = extents.columns,
             .parts = is_complex(spoiled->type()) ? 2 : 1};
  }
  const std::int64_t count = pivots.extent(0);
  return launch(where, "admit", admit<Part>, blocks_for(where, count * threads_per_block),
                pivots.data<std::int32_t>(), to, pivots.extent(1), count, spoil);
}

}  // namespace

result<void> admit_pivots(lane& where, const any_tensor& pivots, std::int32_t* to,
                          const any_tensor* spoiled) {
  const bool wide =
      spoiled != nullptr && (spoiled->type() == dtype::f64 || spoiled->type() == dtype::c128);
  return wide ? admit_as<double>(where, pivots, to, spoiled)
              : admit_as<float>(where, pivots, to, spoiled);
}

}  // namespace troupe::cuda
