#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/collective/cuda/block_words.cuh"
#include "libraries/collective/cuda/kernels.hpp"
#include "libraries/collective/shared/combine.hpp"
#include "libraries/memory/cuda/small_floats.cuh"

#include <algorithm>
#include <type_traits>

namespace troupe::cuda {
namespace {

using collective::combination;
using collective::reduction;

/// Combines elements of type `T` of all ranks, in rank order.
template <class T>
class reducer {
 public:
  __device__ reducer(const reduced_items& what, int ranks) : what_(what), ranks_(ranks) {}

  /// `from(rank)` is where a rank's elements begin, `factor(rank)` multiplies them.
  template <class From, class Factor>
  __device__ void run(workers all, From from, Factor factor, std::byte* to, std::int64_t n) const {
    bool whole = is_aligned(to, 16);
    for (int rank = 0; rank < ranks_; ++rank)
      whole = whole && is_aligned(from(rank), 16);
    const std::int64_t vectors = whole ? n / of_vector : 0;
    for (std::int64_t i = all.first; i < vectors; i += at_once * all.step)
      run_vectors(i, all.step, vectors, from, factor, to);
#pragma unroll 1
    for (std::int64_t i = vectors * of_vector + all.first; i < n; i += all.step) {
      sum value[1];
      for (int rank = 0; rank < ranks_; ++rank) {
        const stored x[1] = {read_past_l1(reinterpret_cast<const stored*>(from(rank)) + i)};
        combine(value, x, rank, factor(rank));
      }
      reinterpret_cast<stored*>(to)[i] = finished(value[0]);
    }
  }

 private:
  using how = combination<T>;
  using sum = typename how::sum;
  // A byte: memory that was set otherwise may hold more than 0 and 1, which no bool may.
  using stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  static constexpr int of_vector = 16 / sizeof(T);
  // Vectors that a thread has under way; it has sixteen sums at most.
  static constexpr int at_once = std::min(16 / of_vector, 4);

  template <class From, class Factor>
  __device__ void run_vectors(std::int64_t first, std::int64_t step, std::int64_t vectors,
                              From from, Factor factor, std::byte* to) const {
    sum sums[at_once * of_vector];
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto* const source = reinterpret_cast<const uint4*>(from(rank));
      alignas(16) stored x[at_once * of_vector];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::int64_t i = first + k * step;
        reinterpret_cast<uint4*>(x)[k] = i < vectors ? read_past_l1(source + i) : uint4{};
      }
      combine(sums, x, rank, factor(rank));
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const std::int64_t i = first + k * step;
      alignas(16) stored y[of_vector];
#pragma unroll
      for (int j = 0; j < of_vector; ++j)
        y[j] = finished(sums[k * of_vector + j]);
      if (i < vectors) reinterpret_cast<uint4*>(to)[i] = *reinterpret_cast<const uint4*>(y);
    }
  }

  template <int N>
  __device__ void combine(sum (&sums)[N], const stored (&x)[N], int rank, double factor) const {
    const auto each = [&](auto combined) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const sum value = how::scaled(widen(x[i]), factor);
        sums[i] = rank == 0 ? value : combined(sums[i], value);
      }
    };
    switch (what_.op) {
      case reduction::sum:
      case reduction::avg:
        return each([](sum a, sum b) { return how::added(a, b); });
      case reduction::prod:
        return each([](sum a, sum b) { return how::multiplied(a, b); });
      case reduction::min:
        return each([](sum a, sum b) { return how::template chosen<false>(a, b); });
      case reduction::max:
        return each([](sum a, sum b) { return how::template chosen<true>(a, b); });
    }
  }
  static __device__ sum widen(stored value) {
    if constexpr (how::is_small) {
      return widened(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return value != 0;
    } else {
      return how::widen(value);
    }
  }
  [[nodiscard]] __device__ stored finished(sum value) const {
    const bool divides = what_.op == reduction::avg;
    if constexpr (how::is_small) {
      return rounded<T>(divides ? value / static_cast<sum>(ranks_) : value);
    } else {
      return divides ? how::averaged(value, ranks_) : how::narrow(value);
    }
  }

  const reduced_items& what_;
  int ranks_;
};

// The part of an item's elements that passes through this block's slice in one step.
struct share {
  std::int64_t first;
  std::int64_t count;
};
__device__ share share_of(std::int64_t first, std::int64_t count) {
  constexpr std::int64_t aligned = 16;
  const std::int64_t each =
      (count + wire::blocks_of_part * aligned - 1) / (wire::blocks_of_part * aligned) * aligned;
  const std::int64_t begin = min(count, blockIdx.x * each);
  return {first + begin, min(count, begin + each) - begin};
}

__device__ double factor_of(const reduced_items& what, int rank) {
  if (!what.has_factors) return what.factor;
  const std::byte* const at = what.factors[rank];
  return (what.wide_factors >> rank & 1) != 0
             ? read_past_l1(reinterpret_cast<const double*>(at))
             : static_cast<double>(read_past_l1(reinterpret_cast<const float*>(at)));
}

template <class T>
__global__ void __launch_bounds__(part_threads, 1)
    reduce_items(const __grid_constant__ part_launch of, const __grid_constant__ reduced_items what,
                 late_failure failure) {
  const reducer<T> reduce(what, of.ranks);
  run_steps(of, failure, [&](auto& steps, block_words& words) {
    if (!what.is_staged) {
      return steps.direct(collective::step_of(of.operation, of.step), [&] {
        for (int k = 0; k < what.items; ++k) {
          if (what.y[k] == nullptr) continue;
          const std::byte* const* const x = what.x + k * of.ranks;
          reduce.run(
              workers::of_all(), [&](int rank) { return x[rank]; },
              [&](int rank) { return factor_of(what, rank); }, what.y[k], what.counts[k]);
        }
      });
    }
    std::uint64_t number = of.step;
    const std::int64_t longest = elements_of_step(of, sizeof(T), what.has_factors);
    for (int k = 0; k < what.items; ++k) {
      const std::byte* const x = what.x[k * of.ranks + of.rank];
      for (std::int64_t first = 0; first < what.counts[k]; first += longest) {
        const share mine = share_of(first, min(longest, what.counts[k] - first));
        const std::uint64_t step = collective::step_of(of.operation, number++);
        const std::uint64_t slot = collective::slot_of(step);
        const auto factor_in = [&](int rank) {
          return reinterpret_cast<double*>(words.slice(rank, slot) + of.slice_bytes - factor_bytes);
        };
        const auto stage = [&] {
          copy_bytes_by(workers::of_block(), x + mine.first * sizeof(T), words.slice(of.rank, slot),
                        mine.count * sizeof(T));
          if (what.has_factors && threadIdx.x == 0) *factor_in(of.rank) = factor_of(what, of.rank);
        };
        const auto factor = [&](int rank) {
          return what.has_factors ? read_past_l1(factor_in(rank)) : what.factor;
        };
        const auto combine = [&] {
          if (what.y[k] == nullptr) return;
          reduce.run(
              workers::of_block(), [&](int rank) { return words.slice(rank, slot); }, factor,
              what.y[k] + mine.first * sizeof(T), mine.count);
        };
        if (!steps.staged(step, stage, combine)) return false;
      }
    }
    return true;
  });
}

// Calls `f` with a value of the type of elements.
template <class F>
result<void> with_type(dtype type, F f) {
  result<void> outcome;
  elementwise::for_element_type(real_type_of(type), [&]<class T>(T of) {
    if constexpr (!elementwise::is_complex_number<T>) (void)(outcome = f(of));
  });
  return outcome;
}

}  // namespace

result<void> enqueue_reduction(const part_launch& of, const reduced_items& what, dtype type,
                               late_failure failure, cudaStream_t stream) {
  return with_type(type, [&]<class T>(T) {
    return launch(reduce_items<T>, wire::blocks_of_part, part_threads, stream, of, what, failure);
  });
}

result<void> load_reduction_kernels() {
  for (const dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3,
                           dtype::e5m2, dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::i32,
                           dtype::u32, dtype::i64, dtype::u64, dtype::boolean}) {
    TRY(with_type(type, []<class T>(T) { return load(reduce_items<T>); }));
  }
  return {};
}

}  // namespace troupe::cuda
