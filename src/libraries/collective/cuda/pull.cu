#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/collective/cuda/block_words.cuh"
#include "libraries/collective/cuda/kernels.hpp"

namespace troupe::cuda {
namespace {

__global__ void __launch_bounds__(part_threads, 1)
    pull_pieces(const __grid_constant__ part_launch of, const __grid_constant__ pulled_pieces what,
                late_failure failure) {
  run_steps(of, failure, [&](auto& steps, block_words& words) {
    return make_direct(steps, words, of, collective::step_of(of.operation, of.step), [&] {
      // Blocks begin with different pieces, so that local ones and all links are busy at once.
      for (int i = 0; i < what.count; ++i) {
        const auto& one = what.all[(i + blockIdx.x) % what.count];
        copy_bytes_by(workers::of_all(), one.from, one.to, one.bytes);
      }
    });
  });
}

// Takes the bytes of a piece that are in a slot, which has `count` bytes from `first` on.
__device__ void take(const staged_pieces::piece& one, std::int64_t first, std::int64_t count,
                     const std::byte* slot) {
  const std::int64_t begin = max(one.first, first);
  const std::int64_t end = min(one.first + one.bytes, first + count);
  if (begin < end) {
    copy_bytes_by(workers::of_block(), slot + (begin - first), one.to + (begin - one.first),
                  end - begin);
  }
}

__global__ void __launch_bounds__(part_threads, 1)
    stage_pieces(const __grid_constant__ part_launch of, const __grid_constant__ staged_pieces what,
                 late_failure failure) {
  run_steps(of, failure, [&](auto& steps, block_words& words) {
    std::uint64_t number = of.step;
    const std::int64_t longest = elements_of_step(of, 1, false);
    const std::int64_t each = longest / wire::blocks_of_part;
    for (int item = 0; item < what.items; ++item) {
      const staged_pieces::input& mine = what.inputs[item];
      for (std::int64_t piece = 0; piece < mine.longest; piece += longest) {
        const std::int64_t first = piece + blockIdx.x * each;
        const std::uint64_t step = collective::step_of(of.operation, number++);
        const std::uint64_t slot = collective::slot_of(step);
        const auto stage = [&](std::uint64_t) {
          const std::int64_t count = min(each, mine.bytes - first);
          if (count > 0) {
            copy_bytes_by(workers::of_block(), mine.from + first, words.slice(of.rank, slot),
                          count);
          }
        };
        const auto combine = [&](bool) {
          for (int i = 0; i < what.count; ++i) {
            const staged_pieces::piece& one = what.all[i];
            if (one.item == item) take(one, first, each, words.slice(one.source, slot));
          }
        };
        if (!steps.staged(step, collective::then::another, stage, combine)) return false;
      }
    }
    return steps.direct(collective::step_of(of.operation, number), [] {});
  });
}

__device__ std::byte* element_of(const staged_view::view& of, std::int64_t i) {
  std::byte* at = of.at;
  for (int d = of.rank - 1; d >= 0; --d) {
    at += i % of.extents[d] * of.strides[d];
    i /= of.extents[d];
  }
  return at;
}

template <class Copy>
__device__ void for_elements(std::int64_t count, Copy copy) {
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x)
    copy(i);
}

__global__ void __launch_bounds__(part_threads, 1)
    stage_view(const __grid_constant__ part_launch of, const __grid_constant__ staged_view what,
               late_failure failure) {
  run_steps(of, failure, [&](auto& steps, block_words& words) {
    std::uint64_t number = of.step;
    const std::int64_t longest = elements_of_step(of, what.element_bytes, false);
    const std::int64_t each = longest / wire::blocks_of_part;
    const auto copy = [&](const std::byte* from, std::byte* to) {
      for (std::int64_t b = 0; b < what.element_bytes; ++b)
        to[b] = read_past_l1(from + b);
    };
    for (std::int64_t piece = 0; piece < what.count; piece += longest) {
      const std::int64_t first = piece + blockIdx.x * each;
      const std::int64_t count = max(std::int64_t{0}, min(each, what.count - first));
      const std::uint64_t step = collective::step_of(of.operation, number++);
      const std::uint64_t slot = collective::slot_of(step);
      const auto stage = [&](std::uint64_t) {
        std::byte* const to = words.slice(of.rank, slot);
        if (what.from.at == nullptr) return;
        for_elements(count, [&](std::int64_t i) {
          copy(element_of(what.from, first + i), to + i * what.element_bytes);
        });
      };
      const auto combine = [&](bool) {
        const std::byte* const from = words.slice(what.source, slot);
        if (what.to.at == nullptr) return;
        for_elements(count, [&](std::int64_t i) {
          copy(from + i * what.element_bytes, element_of(what.to, first + i));
        });
      };
      if (!steps.staged(step, collective::then::another, stage, combine)) return false;
    }
    return steps.direct(collective::step_of(of.operation, number), [] {});
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
  run_steps(of, failure, [&](auto& steps, block_words& words) {
    return make_direct(steps, words, of, collective::step_of(of.operation, of.step), [&] {
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

result<void> enqueue_staged(const part_launch& of, const staged_pieces& what, late_failure failure,
                            cudaStream_t stream) {
  return launch(stage_pieces, wire::blocks_of_part, part_threads, stream, of, what, failure);
}
result<void> enqueue_staged(const part_launch& of, const staged_view& what, late_failure failure,
                            cudaStream_t stream) {
  return launch(stage_view, wire::blocks_of_part, part_threads, stream, of, what, failure);
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
  TRY(load(stage_pieces));
  TRY(load(stage_view));
  return load(pull_view);
}

}  // namespace troupe::cuda
