#pragma once

#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/memory/cuda/strided.hpp"
#include "libraries/rng/cuda/curand.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/cuda/normal_table.hpp"
#include "libraries/rng/cuda/sobol_tables.hpp"
#include "libraries/rng/shared/philox.hpp"
#include "libraries/rng/shared/sobol.hpp"

#include <cuda_runtime.h>

#include <bit>

/// The definition of `enqueue_draws`, for the files that instantiate it. Their samplers are
/// compiled with --fmad=false; see philox.hpp.
namespace troupe::cuda {

inline constexpr int blocks_per_multiprocessor = 32;

// The sources of an element's words. Each is passed to kernels by value.

struct philox_words {
  std::uint64_t seed;
  std::uint64_t subsequence;
  std::uint64_t offset;

  template <std::size_t Count>
  __device__ rng::words<Count> at(std::int64_t element) const {
    const std::uint64_t first = offset + static_cast<std::uint64_t>(element) * Count;
    rng::words<4> block = rng::philox_block(seed, subsequence, first / 4);
    rng::words<Count> drawn;
#pragma unroll
    for (std::size_t i = 0; i < Count; ++i) {
      const auto place = static_cast<unsigned>((first + i) % 4);
      // An element may begin in one block and end in the next.
      if (i > 0 && place == 0) block = rng::philox_block(seed, subsequence, (first + i) / 4);
      // Indexing by `place` would put the block into memory.
      drawn.word[i] = place < 2 ? (place == 0 ? block.word[0] : block.word[1])
                                : (place == 2 ? block.word[2] : block.word[3]);
    }
    return drawn;
  }
};

struct stored_words {
  const std::uint32_t* words;
  std::int64_t first;  ///< the element at which they begin

  template <std::size_t Count>
  __device__ rng::words<Count> at(std::int64_t element) const {
    rng::words<Count> drawn;
#pragma unroll
    for (std::size_t i = 0; i < Count; ++i)
      drawn.word[i] = words[(element - first) * static_cast<std::int64_t>(Count) +
                            static_cast<std::int64_t>(i)];
    return drawn;
  }
};

template <class Integer>
struct sobol_points {
  const Integer* rows;
  std::int64_t dimensions;
  std::uint64_t offset;

  template <std::size_t Count>
  __device__ rng::words<Count> at(std::int64_t element) const {
    const std::int64_t point = element / dimensions;
    const Integer* const row = rows + (element - point * dimensions) * rng::sobol_row<Integer>;
    return rng::sobol_words<Count>(
        rng::sobol_coordinate(row, offset + static_cast<std::uint64_t>(point)));
  }
};

/// Draws `count` elements from number `first` on; `map` gives the position of each.
template <class Sampler, class Words>
__global__ void __launch_bounds__(block_threads)
    draw_elements(const __grid_constant__ strided_map map, std::byte* to, std::int64_t first,
                  std::int64_t count, const __grid_constant__ Sampler sampler,
                  const __grid_constant__ Words words) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * block_elements + threadIdx.x;
  for (int i = 0; i < thread_elements; ++i) {
    const std::int64_t index = begin + i * block_threads;
    if (index >= count) return;
    *reinterpret_cast<typename Sampler::value*>(to + map.place_of(first + index).from) =
        sampler(words.template at<Sampler::count>(first + index));
  }
}

/// The type by which this many bytes are stored.
template <std::size_t Bytes>
struct store_of;
template <>
struct store_of<16> {
  using type = uint4;
};
template <>
struct store_of<8> {
  using type = uint2;
};
template <>
struct store_of<4> {
  using type = std::uint32_t;
};
template <>
struct store_of<2> {
  using type = std::uint16_t;
};
template <>
struct store_of<1> {
  using type = std::uint8_t;
};

/// Draws whole blocks of philox, which become neighbouring elements. Requires packed elements, none
/// of which crosses a block's end. The first `skipped` elements of the first block do not belong to
/// the request.
template <class Sampler>
__global__ void __launch_bounds__(block_threads)
    draw_blocks(typename Sampler::value* to, std::int64_t count, std::uint64_t first_block,
                std::int64_t skipped, const __grid_constant__ Sampler given, std::uint64_t seed,
                std::uint64_t subsequence) {
  constexpr auto each = static_cast<std::int64_t>(4 / Sampler::count);
  using value = typename Sampler::value;
  struct alignas(sizeof(value) * each) neighbours {
    value of[each];
  };
  Sampler sampler = given;
  if constexpr (rng::has_normal_table<Sampler>) {
    // Threads look up random entries, so the table is in shared memory.
    __shared__ rng::normal_segment table[rng::normal_segments];
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < rng::normal_segments; i += block_threads)
      table[i] = given.table[i];
    __syncthreads();
    sampler.table = table;
  }
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * block_threads;
  for (std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;;
       number += step) {
    const std::int64_t first = number * each - skipped;
    if (first >= count) return;
    const rng::words<4> block =
        rng::philox_block(seed, subsequence, first_block + static_cast<std::uint64_t>(number));
    neighbours made;
#pragma unroll
    for (std::size_t i = 0; i < each; ++i) {
      rng::words<Sampler::count> drawn;
#pragma unroll
      for (std::size_t j = 0; j < Sampler::count; ++j)
        drawn.word[j] = block.word[i * Sampler::count + j];
      made.of[i] = sampler(drawn);
    }
    value* const at = to + first;
    if (first >= 0 && first + each <= count &&
        reinterpret_cast<std::uintptr_t>(at) % alignof(neighbours) == 0) {
      // An intrinsic: for an assignment, the compiler emits one store per element.
      using stored = store_of<sizeof(neighbours)>::type;
      __stcs(reinterpret_cast<stored*>(at), std::bit_cast<stored>(made));
      continue;
    }
#pragma unroll
    for (std::int64_t i = 0; i < each; ++i) {
      if (first + i >= 0 && first + i < count) to[first + i] = made.of[i];
    }
  }
}

template <class Sampler, class Words>
result<void> launch_elements(const strided_map& map, const any_tensor& to, std::int64_t first,
                             std::int64_t count, const Sampler& sampler, const Words& words,
                             lane& where) {
  return launch(draw_elements<Sampler, Words>, (count - 1) / block_elements + 1, block_threads,
                where.stream(), map, to.address(), first, count, sampler, words);
}

template <class Sampler>
result<void> enqueue_philox(const rng::position& from, const any_tensor& to, const strided_map& map,
                            const Sampler& sampler, lane& where) {
  using value = typename Sampler::value;
  constexpr auto words = static_cast<std::int64_t>(Sampler::count);
  const bool packed = map.rank == 1 && (map.count == 1 || map.dimensions[0].from == sizeof(value));
  if (!packed || from.offset % words != 0) {
    return launch_elements(
        map, to, 0, map.count, sampler,
        philox_words{from.seed, from.subsequence, static_cast<std::uint64_t>(from.offset)}, where);
  }
  const std::int64_t skipped = from.offset % 4 / words;
  const std::int64_t blocks = (map.count + skipped - 1) / (4 / words) + 1;
  // A few times as many as run at once: each block has to prepare the rounds' keys and a table.
  const std::int64_t most = std::int64_t{where.multiprocessors()} * blocks_per_multiprocessor;
  return launch(draw_blocks<Sampler>, std::min(most, (blocks - 1) / block_threads + 1),
                block_threads, where.stream(), reinterpret_cast<value*>(to.address()), map.count,
                static_cast<std::uint64_t>(from.offset / 4), skipped, sampler, from.seed,
                from.subsequence);
}

template <class Integer, class Sampler>
result<void> enqueue_sobol(const rng::position& from, const any_tensor& to, const strided_map& map,
                           const Sampler& sampler, lane& where) {
  const std::int64_t dimensions = rng::dimensions_of(to);
  const auto rows = TRY(sobol_rows_on<Integer>(from, dimensions, where));
  return launch_elements(
      map, to, 0, map.count, sampler,
      sobol_points<Integer>{rows, dimensions, static_cast<std::uint64_t>(from.offset)}, where);
}

template <class Sampler>
result<void> enqueue_stored(const rng::position& from, const any_tensor& to, const strided_map& map,
                            const Sampler& sampler, std::byte* scratch, lane& where) {
  constexpr auto words = static_cast<std::int64_t>(Sampler::count);
  auto* const stored = reinterpret_cast<std::uint32_t*>(scratch);
  for (std::int64_t first = 0; first < map.count;) {
    const std::int64_t count = std::min(map.count - first, words_at_a_time / words);
    TRY(enqueue_words(from, static_cast<std::uint64_t>(from.offset + first * words), count * words,
                      stored, where));
    TRY(launch_elements(map, to, first, count, sampler, stored_words{stored, first}, where));
    first += count;
  }
  return {};
}

template <class Sampler>
result<void> enqueue_draws(const rng::position& from, const any_tensor& to, Sampler sampler,
                           std::byte* scratch, lane& where) {
  if constexpr (rng::has_normal_table<Sampler>) {
    sampler.table = TRY(normal_table_on(where));
  }
  // The loops keep the order of their target: element numbers, as if the elements were packed.
  const elementwise::strided_loops loops(
      to, any_tensor::unowned(nullptr, dtype::u8, shape(to.extents())));
  if (loops.empty) return {};
  const strided_map map(loops, false);
  switch (from.type) {
    case rng::generator_type::philox4x32_10:
      return enqueue_philox(from, to, map, sampler, where);
    case rng::generator_type::xorwow:
    case rng::generator_type::mrg32k3a:
    case rng::generator_type::mtgp32:
    case rng::generator_type::mt19937:
      return enqueue_stored(from, to, map, sampler, scratch, where);
    case rng::generator_type::sobol32:
    case rng::generator_type::scrambled_sobol32:
      return enqueue_sobol<std::uint32_t>(from, to, map, sampler, where);
    case rng::generator_type::sobol64:
    case rng::generator_type::scrambled_sobol64:
      return enqueue_sobol<std::uint64_t>(from, to, map, sampler, where);
  }
  return {};
}

}  // namespace troupe::cuda

/// Instantiates `enqueue_draws` for a sampler, in namespace troupe::cuda.
#define TROUPE_DRAWS_OF(...)                                                                     \
  template result<void> enqueue_draws(const rng::position&, const any_tensor&, rng::__VA_ARGS__, \
                                      std::byte*, lane&)
