#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/collective/cuda/block_words.cuh"
#include "libraries/collective/cuda/kernels.hpp"

namespace troupe::cuda {
namespace {

__global__ void __launch_bounds__(part_threads, 1)
    pull_pieces(const __grid_constant__ part_launch of, const __grid_constant__ pulled_pieces what,
                late_failure failure) {
  run_steps(of, failure, [&](auto& steps, block_words&) {
    return steps.direct(collective::step_of(of.operation, of.step), [&] {
      for (int i = 0; i < what.count; ++i)
        copy_bytes_by(workers::of_all(), what.all[i].from, what.all[i].to, what.all[i].bytes);
    });
  });
}

__global__ void __launch_bounds__(part_threads, 1)
    start_step(const __grid_constant__ part_launch of, late_failure failure) {
  run_steps(of, failure, [&](auto& steps, block_words&) {
    return steps.start(collective::step_of(of.operation, of.step));
  });
}
__global__ void __launch_bounds__(part_threads, 1)
    finish_step(const __grid_constant__ part_launch of, late_failure failure) {
  run_steps(of, failure, [&](auto& steps, block_words&) {
    return steps.finish(collective::step_of(of.operation, of.step));
  });
}

template <class Unit>
__device__ void copy_view(const elementwise::strided_loops& loops, const std::byte* from,
                          std::byte* to) {
  std::int64_t count = 1;
  for (int d = 0; d < loops.rank; ++d)
    count *= loops.dimensions[d].extent;
  const workers all = workers::of_all();
#pragma unroll 1
  for (std::int64_t i = all.first; i < count; i += all.step) {
    std::int64_t rest = i;
    const std::byte* source = from;
    std::byte* target = to;
    for (int d = loops.rank - 1; d >= 0; --d) {
      const auto& loop = loops.dimensions[d];
      const std::int64_t at = rest % loop.extent;
      rest /= loop.extent;
      source += at * loop.from;
      target += at * loop.to;
    }
    *reinterpret_cast<Unit*>(target) = read_past_l1(reinterpret_cast<const Unit*>(source));
  }
}

struct two_halves {
  std::uint64_t low;
  std::uint64_t high;
};
__device__ two_halves read_past_l1(const two_halves* at) {
  return {cuda::read_past_l1(&at->low), cuda::read_past_l1(&at->high)};
}

__global__ void __launch_bounds__(part_threads, 1)
    pull_view(const __grid_constant__ part_launch of,
              const __grid_constant__ elementwise::strided_loops loops, std::int64_t element_bytes,
              const std::byte* from, std::byte* to, late_failure failure) {
  run_steps(of, failure, [&](auto& steps, block_words&) {
    return steps.direct(collective::step_of(of.operation, of.step), [&] {
      if (loops.empty || from == to) return;
      switch (element_bytes) {
        case 1:
          return copy_view<std::uint8_t>(loops, from, to);
        case 2:
          return copy_view<std::uint16_t>(loops, from, to);
        case 4:
          return copy_view<std::uint32_t>(loops, from, to);
        case 8:
          return copy_view<std::uint64_t>(loops, from, to);
        default:
          return copy_view<two_halves>(loops, from, to);
      }
    });
  });
}

}  // namespace

result<void> enqueue_pull(const part_launch& of, const pulled_pieces& what, late_failure failure,
                          cudaStream_t stream) {
  return launch(pull_pieces, wire::blocks_of_part, part_threads, stream, of, what, failure);
}
result<void> enqueue_pull(const part_launch& of, const elementwise::strided_loops& loops,
                          std::int64_t element_bytes, const std::byte* from, std::byte* to,
                          late_failure failure, cudaStream_t stream) {
  return launch(pull_view, wire::blocks_of_part, part_threads, stream, of, loops, element_bytes,
                from, to, failure);
}

result<void> enqueue_start(part_launch of, late_failure failure, cudaStream_t stream) {
  of.is_last = false;  // the second half sees that it was dropped, too
  return launch(start_step, wire::blocks_of_part, 32, stream, of, failure);
}
result<void> enqueue_finish(const part_launch& of, late_failure failure, cudaStream_t stream) {
  return launch(finish_step, wire::blocks_of_part, 32, stream, of, failure);
}

result<void> load_pull_kernels() {
  TRY(load(start_step));
  TRY(load(finish_step));
  TRY(load(pull_pieces));
  return load(pull_view);
}

}  // namespace troupe::cuda
