#include "backend/cuda/context/late_failure.cuh"
#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/rng/cuda/weights.hpp"

namespace troupe::cuda {
namespace {

constexpr int threads = 64;

template <class Weight>
__global__ void sum_within_blocks(const Weight* weights, std::int64_t step, rng::weight_sums sums) {
  const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (number < sums.blocks()) sums.add_block(number, weights, step);
}

// Adds sequentially, so that the sums equal those of every backend.
__global__ void sum_blocks(rng::weight_sums sums) { sums.add_blocks(); }

__global__ void check_sums(rng::weight_sums sums, late_failure failure) {
  if (!sums.usable()) {
    failure.write(errc::invalid_argument,
                  "weights must be finite, none negative, with a finite sum above 0");
  }
}

template <class Weight>
result<void> enqueue_within_blocks(const any_tensor& weights, const rng::weight_sums& sums,
                                   lane& where) {
  return launch(sum_within_blocks<Weight>, (sums.blocks() - 1) / threads + 1, threads,
                where.stream(), weights.data<Weight>(), weights.stride(0), sums);
}

}  // namespace

result<void> enqueue_weight_sums(const any_tensor& weights, const rng::weight_sums& sums,
                                 lane& where) {
  TRY(weights.type() == dtype::f32 ? enqueue_within_blocks<float>(weights, sums, where)
                                   : enqueue_within_blocks<double>(weights, sums, where));
  return launch(sum_blocks, 1, 1, where.stream(), sums);
}

result<void> enqueue_weight_check(const rng::weight_sums& sums, late_failure failure, lane& where) {
  return launch(check_sums, 1, 1, where.stream(), sums, failure);
}

}  // namespace troupe::cuda
