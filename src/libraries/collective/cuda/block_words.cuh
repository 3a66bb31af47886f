#pragma once

#include "backend/cuda/context/late_failure.cuh"
#include "libraries/collective/cuda/part.hpp"
#include "libraries/collective/shared/words.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace troupe::cuda {

inline constexpr int part_threads = 512;

/// The words of a world as one block of a part sees them; see `collective::protocol`. All threads
/// of the block make all calls, and get the same answers. Its first threads alone access words:
/// barriers of the block order the accesses of the others to data before and after.
class block_words {
 public:
  __device__ explicit block_words(const part_launch& of) : of_(of) {
    __shared__ std::uint64_t seen[2];
    if (threadIdx.x == 0) {
      seen[0] = load(&mine().own);
      seen[1] = load(&mine().staged);
    }
    __syncthreads();
    own_ = seen[0];
    staged_ = seen[1];
  }

  [[nodiscard]] __device__ int ranks() const { return of_.ranks; }
  // No other block writes these two.
  [[nodiscard]] __device__ std::uint64_t own() const { return own_; }
  __device__ void set_own(std::uint64_t step) { set(&mine().own, own_, step); }
  [[nodiscard]] __device__ std::uint64_t staged() const { return staged_; }
  __device__ void set_staged(std::uint64_t step) { set(&mine().staged, staged_, step); }

  __device__ void put_start(int peer, std::uint64_t step) {
    put(peer, &of(peer).start[of_.rank], step);
  }
  [[nodiscard]] __device__ bool all_started(std::uint64_t step) {
    return are_at(mine().start, step);
  }
  __device__ void put_done(int peer, std::uint64_t step) {
    put(peer, &of(peer).done[of_.rank], step);
  }
  [[nodiscard]] __device__ bool all_done(std::uint64_t step) { return are_at(mine().done, step); }
  /// In host memory, so it takes three microseconds.
  [[nodiscard]] __device__ std::uint64_t dropped() {
    return shared([&] {
      __threadfence_system();  // not before the data that was read
      return load(reinterpret_cast<const std::uint64_t*>(
          of_.dropped + blockIdx.x * sizeof(wire::world_page::drop_word)));
    });
  }
  /// Likewise.
  [[nodiscard]] __device__ bool is_broken(std::uint64_t connection) {
    return shared([&] {
             return load(reinterpret_cast<const std::uint64_t*>(
                 of_.dropped + blockIdx.x * sizeof(wire::world_page::drop_word) +
                 offsetof(wire::world_page::drop_word, broken)));
           }) >= connection;
  }
  __device__ void pause() const { __nanosleep(500); }

  /// The block's part of a slot for staged input.
  [[nodiscard]] __device__ std::byte* slice(int rank, std::uint64_t slot) const {
    return of_.words[rank] + slice_offset(slot);
  }
  /// The same behind the words of any rank.
  [[nodiscard]] __device__ std::int64_t slice_offset(std::uint64_t slot) const {
    return static_cast<std::int64_t>(wire::device_staging_offset) +
           (static_cast<std::int64_t>(slot) * wire::blocks_of_part + blockIdx.x) * of_.slice_bytes;
  }

 private:
  template <class Word>
  [[nodiscard]] static __device__ std::uint64_t load(const Word* word) {
    std::uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }
  template <class Word>
  static __device__ void store(Word* word, std::uint64_t value) {
    asm volatile("st.relaxed.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
  }
  template <class Word>
  __device__ void set(Word* word, std::uint64_t& known, std::uint64_t value) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      store(word, value);
    }
    known = value;
  }
  // To all peers, one after the other, from 0 on.
  template <class Word>
  __device__ void put(int peer, Word* word, std::uint64_t step) {
    if (peer == 0) __syncthreads();
    if (threadIdx.x == 0) {
      if (peer == 0) __threadfence_system();  // releases what all threads have written
      store(word, step);
    }
  }
  // Each peer's word has its own thread, which looks for a while, because a look at `dropped` is
  // slow. The barrier makes the acquired data visible to the whole block.
  template <class Word>
  __device__ bool are_at(const Word* by_peer, std::uint64_t step) {
    bool is_there = true;
    if (static_cast<int>(threadIdx.x) < of_.ranks) {
      is_there = load(by_peer + threadIdx.x) >= step;
      for (int looks = 0; !is_there && looks < 256; ++looks) {
        __nanosleep(20);
        is_there = load(by_peer + threadIdx.x) >= step;
      }
    }
    return __syncthreads_and(static_cast<int>(is_there)) != 0;
  }
  // The first thread's result, for all threads of the block.
  template <class Find>
  static __device__ std::uint64_t shared(Find find) {
    __shared__ std::uint64_t found;
    __syncthreads();
    if (threadIdx.x == 0) found = find();
    __syncthreads();
    return found;
  }
  [[nodiscard]] __device__ wire::rank_words& of(int rank) const {
    return reinterpret_cast<wire::rank_words*>(of_.words[rank])[blockIdx.x];
  }
  [[nodiscard]] __device__ wire::rank_words& mine() const { return of(of_.rank); }

  const part_launch& of_;
  std::uint64_t own_;
  std::uint64_t staged_;
};

/// Makes the steps of one launch: `run(protocol, words)` returns false if the operation was
/// dropped. The last launch of a part reports that: a drop stays visible.
template <class Run>
__device__ void run_steps(const part_launch& of, late_failure failure, Run&& run) {
  block_words words(of);
  collective::protocol steps(words);
  steps.begin(of.operation);
  const bool made = run(steps, words);
  if (!of.is_last) return;
  if (made) {
    steps.end(of.operation);
  } else if (threadIdx.x == 0) {
    failure.write(errc::aborted, "the part of another rank failed");  // all blocks write the same
  }
}

/// A step without staging, whose output NCCL may have made.
template <class Steps, class Pull>
__device__ bool make_direct(Steps& steps, block_words& words, const part_launch& of,
                            std::uint64_t step, Pull&& pull) {
  if (of.trusted == 0) return steps.direct(step, pull);
  return steps.verified(step, [&] { return !words.is_broken(of.trusted); }, pull);
}

// Data of peers is read past the L1 cache, which does not know that they write it.

template <class T>
[[nodiscard]] __device__ __forceinline__ T read_past_l1(const T* at) {
  if constexpr (sizeof(T) == 1) {
    const auto bits = __ldcg(reinterpret_cast<const unsigned char*>(at));
    return *reinterpret_cast<const T*>(&bits);
  } else if constexpr (sizeof(T) == 2) {
    const auto bits = __ldcg(reinterpret_cast<const unsigned short*>(at));
    return *reinterpret_cast<const T*>(&bits);
  } else if constexpr (sizeof(T) == 4) {
    const auto bits = __ldcg(reinterpret_cast<const unsigned*>(at));
    return *reinterpret_cast<const T*>(&bits);
  } else if constexpr (sizeof(T) == 8) {
    const auto bits = __ldcg(reinterpret_cast<const unsigned long long*>(at));
    return *reinterpret_cast<const T*>(&bits);
  } else {
    return __ldcg(at);
  }
}

[[nodiscard]] __device__ __forceinline__ bool is_aligned(const void* at, std::uint64_t bytes) {
  return reinterpret_cast<std::uint64_t>(at) % bytes == 0;
}

/// Threads that share a piece of work: those of a block, or of all blocks.
struct workers {
  std::int64_t first;
  std::int64_t step;

  [[nodiscard]] static __device__ workers of_block() {
    return {static_cast<std::int64_t>(threadIdx.x), static_cast<std::int64_t>(blockDim.x)};
  }
  /// Those of a block from the `begin`th on, `count` of them; the others have nothing to do.
  [[nodiscard]] static __device__ workers of_block_from(int begin, int count) {
    const int at = static_cast<int>(threadIdx.x) - begin;
    return {at >= 0 && at < count ? at : none, count};
  }
  static constexpr std::int64_t none = std::int64_t{1} << 62;
  [[nodiscard]] static __device__ workers of_all() {
    return {static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
            static_cast<std::int64_t>(gridDim.x) * blockDim.x};
  }
};

template <class Unit>
__device__ void copy_units_by(workers all, const std::byte* from, std::byte* to,
                              std::int64_t units) {
  // Enough under way to hide the latency of a link.
  constexpr int at_once = 8;
  const auto* const source = reinterpret_cast<const Unit*>(from);
  auto* const target = reinterpret_cast<Unit*>(to);
  for (std::int64_t i = all.first; i < units; i += at_once * all.step) {
    Unit values[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      if (i + k * all.step < units) values[k] = read_past_l1(source + i + k * all.step);
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      if (i + k * all.step < units) target[i + k * all.step] = values[k];
  }
}

/// Copies contiguous bytes.
__device__ inline void copy_bytes_by(workers all, const std::byte* from, std::byte* to,
                                     std::int64_t bytes) {
  std::int64_t done = 0;
  if (is_aligned(from, 16) && is_aligned(to, 16)) {
    done = bytes / 16 * 16;
    copy_units_by<uint4>(all, from, to, bytes / 16);
  } else if (is_aligned(from, 4) && is_aligned(to, 4)) {
    done = bytes / 4 * 4;
    copy_units_by<unsigned>(all, from, to, bytes / 4);
  }
  copy_units_by<unsigned char>(all, from + done, to + done, bytes - done);
}

}  // namespace troupe::cuda
