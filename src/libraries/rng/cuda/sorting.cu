#include "backend/cuda/context/launch.cuh"
#include "libraries/rng/cuda/sorting.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

namespace troupe::cuda {
namespace {

constexpr int threads = 256;

/// The pieces of the workspace: keys and indices before and after, and CUB's own.
struct sorting_room {
  std::uint64_t* keys;
  std::uint64_t* sorted_keys;
  std::uint32_t* indices;
  std::uint32_t* sorted_indices;
  std::byte* temporary;

  sorting_room(std::byte* room, std::int64_t count)
      : keys(reinterpret_cast<std::uint64_t*>(room)),
        sorted_keys(keys + padded(count)),
        indices(reinterpret_cast<std::uint32_t*>(sorted_keys + padded(count))),
        sorted_indices(indices + padded(count)),
        temporary(reinterpret_cast<std::byte*>(sorted_indices + padded(count))) {}

  // So that each piece is aligned to 256 bytes, as the workspace is.
  static std::int64_t padded(std::int64_t count) { return (count + 63) / 64 * 64; }
  static std::size_t bytes(std::int64_t count) {
    return static_cast<std::size_t>(padded(count)) * 24;
  }
};

cudaError_t sort(void* temporary, std::size_t& bytes, const sorting_room& room, std::int64_t count,
                 cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, bytes, room.keys, room.sorted_keys,
                                         room.indices, room.sorted_indices, count, 0, 64, stream);
}

__global__ void __launch_bounds__(threads) number(std::uint32_t* indices, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < count) indices[i] = static_cast<std::uint32_t>(i);
}

template <class T>
__global__ void __launch_bounds__(threads)
    store(const std::uint32_t* indices, T* to, std::int64_t step, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < count) to[i * step] = static_cast<T>(indices[i]);
}

template <class T>
result<void> enqueue_store(const std::uint32_t* indices, const any_tensor& to, lane& where) {
  const std::int64_t count = to.extent(0);
  return launch(store<T>, (count - 1) / threads + 1, threads, where.stream(), indices, to.data<T>(),
                to.stride(0), count);
}

}  // namespace

result<std::size_t> ordering_bytes(std::int64_t count) {
  std::size_t temporary = 0;
  const sorting_room none(nullptr, 0);
  if (auto done = check(sort(nullptr, temporary, none, count, nullptr), "cub::SortPairs"); !done) {
    return std::move(done).error();
  }
  return sorting_room::bytes(count) + temporary;
}

result<void> enqueue_order(std::span<std::byte> room, const any_tensor& to, lane& where) {
  const std::int64_t count = to.extent(0);
  if (count == 0) return {};
  const sorting_room pieces(room.data(), count);
  if (auto done =
          launch(number, (count - 1) / threads + 1, threads, where.stream(), pieces.indices, count);
      !done) {
    return done;
  }
  std::size_t temporary = room.size() - sorting_room::bytes(count);
  if (auto done =
          check(sort(pieces.temporary, temporary, pieces, count, where.stream()), "cub::SortPairs");
      !done) {
    return done;
  }
  return to.type() == dtype::i32 ? enqueue_store<std::int32_t>(pieces.sorted_indices, to, where)
                                 : enqueue_store<std::int64_t>(pieces.sorted_indices, to, where);
}

}  // namespace troupe::cuda
