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
using collective::then;

/// The places of the elements of all ranks: so far behind a place of each rank.
struct inputs {
  const std::byte* const* of_rank;
  std::int64_t offset;
  /// That of the ranks' factors, if they are staged.
  std::int64_t factor_offset = 0;

  [[nodiscard]] __device__ const std::byte* at(int rank) const { return of_rank[rank] + offset; }
};

__device__ double factor_of(const reduced_items& what, int rank) {
  if (!what.has_factors) return what.factor;
  const std::byte* const at = what.factors[rank];
  return (what.wide_factors >> rank & 1) != 0
             ? read_past_l1(reinterpret_cast<const double*>(at))
             : static_cast<double>(read_past_l1(reinterpret_cast<const float*>(at)));
}

/// Combines elements of type `T` of all ranks, in rank order.
template <class T>
class reducer {
 public:
  __device__ reducer(const reduced_items& what, int ranks) : what_(what), ranks_(ranks) {}

  // Once in each kernel, which has enough registers for it alone.
  __noinline__ __device__ void run(workers all, const inputs& from, std::byte* to,
                                   std::int64_t n) const {
    bool whole = is_aligned(to, 16);
    for (int rank = 0; rank < ranks_; ++rank)
      whole = whole && is_aligned(from.at(rank), 16);
    const std::int64_t vectors = whole ? n / of_vector : 0;
#pragma unroll 1
    for (std::int64_t i = all.first; i < vectors; i += at_once * all.step)
      run_vectors(i, all.step, vectors, from, to);
#pragma unroll 1
    for (std::int64_t i = vectors * of_vector + all.first; i < n; i += all.step) {
      sum value[1];
#pragma unroll 1
      for (int rank = 0; rank < ranks_; ++rank) {
        const stored x[1] = {read_past_l1(reinterpret_cast<const stored*>(from.at(rank)) + i)};
        combine(value, x, rank, factor(from, rank));
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
  // Vectors of each of two ranks that a thread has under way; it has sixteen sums at most.
  static constexpr int at_once = std::min(16 / of_vector, 4);
  struct vectors_of_rank {
    alignas(16) stored x[at_once * of_vector];
  };

  [[nodiscard]] __device__ double factor(const inputs& from, int rank) const {
    if (!what_.has_factors || from.factor_offset == 0) return factor_of(what_, rank);
    return read_past_l1(reinterpret_cast<const double*>(from.of_rank[rank] + from.factor_offset));
  }
  __device__ void load(const inputs& from, int rank, std::int64_t first, std::int64_t step,
                       std::int64_t vectors, vectors_of_rank& to) const {
    const auto* const source = reinterpret_cast<const uint4*>(from.at(rank));
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const std::int64_t i = first + k * step;
      reinterpret_cast<uint4*>(to.x)[k] = i < vectors ? read_past_l1(source + i) : uint4{};
    }
  }
  // The next rank's elements are on their way while those of one are combined.
  __device__ void run_vectors(std::int64_t first, std::int64_t step, std::int64_t vectors,
                              const inputs& from, std::byte* to) const {
    sum sums[at_once * of_vector];
    vectors_of_rank one, next;
    load(from, 0, first, step, vectors, one);
#pragma unroll 1
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank + 1 < ranks_) load(from, rank + 1, first, step, vectors, next);
      combine(sums, one.x, rank, factor(from, rank));
      one = next;
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

// The elements that a block of a rank computes for all, of `count`.
__device__ share slice_of(std::int64_t count, int ranks, int rank) {
  constexpr std::int64_t aligned = 16;
  const std::int64_t unit = aligned * ranks;
  const std::int64_t each = (count + unit - 1) / unit * aligned;
  const std::int64_t begin = min(count, rank * each);
  return share_of(begin, min(count, begin + each) - begin);
}

// Not inlined: the kernels have no registers left for its loads.
__noinline__ __device__ void copy_of_bytes(workers all, const std::byte* from, std::byte* to,
                                           std::int64_t bytes) {
  copy_bytes_by(all, from, to, bytes);
}

// So many threads of a block stage the input of the next step while the others combine.
constexpr int staging_threads = part_threads / 4;

template <class T>
class reduction_steps {
 public:
  __device__ reduction_steps(const part_launch& of, const reduced_items& what)
      : of_(of), what_(what), reduce_(what, of.ranks) {}

  template <class Steps>
  __device__ bool direct(Steps& steps, block_words& words) const {
    return make_direct(steps, words, of_, collective::step_of(of_.operation, of_.step), [&] {
      for (int k = 0; k < what_.items; ++k)
        pull(k, workers::of_all(), 0, what_.counts[k]);
    });
  }

  template <class Steps>
  __device__ bool two_shot(Steps& steps) const {
    return steps.two_shot(
        collective::step_of(of_.operation, of_.step),
        [&] {
          for (int k = 0; k < what_.items; ++k) {
            const share mine = slice_of(what_.counts[k], of_.ranks, of_.rank);
            pull(k, workers::of_block(), mine.first, mine.count);
          }
        },
        [&] {
          for (int k = 0; k < what_.items; ++k) {
            for (int next = 1; next < of_.ranks; ++next) {
              // Each rank begins with another one, so that all links are busy.
              const int peer = (of_.rank + next) % of_.ranks;
              const share its = slice_of(what_.counts[k], of_.ranks, peer);
              const std::int64_t at = its.first * sizeof(T);
              copy_of_bytes(workers::of_block(), what_.outputs[k * of_.ranks + peer] + at,
                            what_.y[k] + at, its.count * sizeof(T));
            }
          }
        });
  }

  template <class Steps>
  __device__ bool sliced(Steps& steps, block_words& words) const {
    std::uint64_t number = of_.step;
    if (!steps.begun(collective::step_of(of_.operation, number++))) return false;
    const std::int64_t longest = elements_of_piece(of_, sizeof(T));
    for (int k = 0; k < what_.items; ++k) {
      const std::int64_t total = what_.counts[k];
      for (std::int64_t at = 0; at < total; at += longest) {
        const std::uint64_t step = collective::step_of(of_.operation, number++);
        const bool is_last_of_item = at + longest >= total;
        const auto reduce = [&](std::uint64_t of) {
          const std::int64_t piece = of == step ? at : at + longest;
          reduce_slice(words, k, piece, min(longest, total - piece), collective::slot_of(of));
        };
        const auto gather = [&](bool reduces_next) {
          gather_slices(words, k, at, min(longest, total - at), collective::slot_of(step));
          if (reduces_next) reduce(step + 1);
        };
        if (!steps.staged(step, next_of(is_last_of_item, k), reduce, gather)) return false;
      }
    }
    return true;
  }

  template <class Steps>
  __device__ bool staged(Steps& steps, block_words& words) const {
    std::uint64_t number = of_.step;
    const std::int64_t longest = elements_of_step(of_, sizeof(T), what_.has_factors);
    for (int k = 0; k < what_.items; ++k) {
      const std::int64_t total = what_.x_counts[k];
      for (std::int64_t first = 0; first < total; first += longest) {
        const std::uint64_t step = collective::step_of(of_.operation, number++);
        const auto stage = [&](std::uint64_t) {
          stage_some(words, k, first, longest, collective::slot_of(step), 0, part_threads);
        };
        const auto combine = [&](bool stages_next) {
          const int combining = part_threads - (stages_next ? staging_threads : 0);
          if (stages_next && static_cast<int>(threadIdx.x) >= combining) {
            stage_some(words, k, first + longest, longest, collective::slot_of(step + 1), combining,
                       staging_threads);
          } else {
            combine_some(words, k, first, longest, collective::slot_of(step), combining);
          }
        };
        if (!steps.staged(step, next_of(first + longest >= total, k), stage, combine)) return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] __device__ then next_of(bool is_last_of_item, int item) const {
    if (!is_last_of_item) return then::more;
    return of_.is_last && item + 1 == what_.items ? then::nothing : then::another;
  }
  // Elements of a result, where the peers' inputs are.
  __device__ void pull(int item, workers all, std::int64_t first, std::int64_t count) const {
    if (what_.y[item] == nullptr) return;
    const inputs from{
        .of_rank = what_.x + item * of_.ranks,
        .offset = static_cast<std::int64_t>((what_.firsts[item] + first) * sizeof(T))};
    reduce_.run(all, from, what_.y[item] + first * sizeof(T), count);
  }
  // This rank's slice of a piece of the result, into its slot.
  __device__ void reduce_slice(block_words& words, int item, std::int64_t piece, std::int64_t count,
                               std::uint64_t slot) const {
    const share mine = slice_of(count, of_.ranks, of_.rank);
    const inputs from{.of_rank = what_.x + item * of_.ranks,
                      .offset = static_cast<std::int64_t>((piece + mine.first) * sizeof(T))};
    reduce_.run(workers::of_block(), from, words.slice(of_.rank, slot), mine.count);
  }
  // The slices of all ranks, from theirs.
  __device__ void gather_slices(block_words& words, int item, std::int64_t piece,
                                std::int64_t count, std::uint64_t slot) const {
    for (int next = 1; next <= of_.ranks; ++next) {
      const int peer = (of_.rank + next) % of_.ranks;
      const share its = slice_of(count, of_.ranks, peer);
      copy_of_bytes(workers::of_block(), words.slice(peer, slot),
                    what_.y[item] + (piece + its.first) * sizeof(T), its.count * sizeof(T));
    }
  }
  [[nodiscard]] __device__ double* factor_in(block_words& words, int rank,
                                             std::uint64_t slot) const {
    return reinterpret_cast<double*>(words.slice(rank, slot) + of_.slice_bytes - factor_bytes);
  }
  // By the threads from `begin` on.
  __device__ void stage_some(block_words& words, int item, std::int64_t first, std::int64_t longest,
                             std::uint64_t slot, int begin, int threads) const {
    const share mine = share_of(first, min(longest, what_.x_counts[item] - first));
    copy_of_bytes(workers::of_block_from(begin, threads),
                  what_.x[item * of_.ranks + of_.rank] + mine.first * sizeof(T),
                  words.slice(of_.rank, slot), mine.count * sizeof(T));
    if (what_.has_factors && static_cast<int>(threadIdx.x) == begin) {
      *factor_in(words, of_.rank, slot) = factor_of(what_, of_.rank);
    }
  }
  // By the first threads.
  __device__ void combine_some(block_words& words, int item, std::int64_t first,
                               std::int64_t longest, std::uint64_t slot, int threads) const {
    if (what_.y[item] == nullptr) return;
    const share mine = share_of(first, min(longest, what_.x_counts[item] - first));
    // The elements of this rank's result among those that are staged.
    const std::int64_t from = what_.firsts[item];
    const std::int64_t begin = max(mine.first, from);
    const std::int64_t end = min(mine.first + mine.count, from + what_.counts[item]);
    if (begin >= end) return;
    const std::int64_t slice = words.slice_offset(slot);
    const inputs all{.of_rank = of_.words,
                     .offset = slice + static_cast<std::int64_t>((begin - mine.first) * sizeof(T)),
                     .factor_offset = slice + of_.slice_bytes - factor_bytes};
    reduce_.run(workers::of_block_from(0, threads), all, what_.y[item] + (begin - from) * sizeof(T),
                end - begin);
  }

  const part_launch& of_;
  const reduced_items& what_;
  const reducer<T> reduce_;
};

template <class T>
__global__ void __launch_bounds__(part_threads, 1)
    reduce_items(const __grid_constant__ part_launch of, const __grid_constant__ reduced_items what,
                 late_failure failure) {
  const reduction_steps<T> make(of, what);
  run_steps(of, failure, [&](auto& steps, block_words& words) {
    switch (what.how) {
      case wire::algorithm::staged:
        return make.staged(steps, words);
      case wire::algorithm::two_shot:
        return make.two_shot(steps);
      case wire::algorithm::sliced:
        return make.sliced(steps, words);
      case wire::algorithm::direct:
        break;
    }
    return make.direct(steps, words);
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
