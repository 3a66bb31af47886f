#include "backend/cuda/context/launch.cuh"
#include "libraries/rng/cuda/sorting.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

namespace troupe::cuda {
namespace {

constexpr int threads = 256;

cudaError_t sort(void* temporary, std::size_t& bytes, const ordering& o, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, bytes, o.keys.get(), o.sorted_keys.get(),
                                         o.indices.get(), o.sorted_indices.get(), o.count, 0, 64,
                                         stream);
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

result<ordering> ordering::in(call_frame& c, std::int64_t count) {
  ordering made{.keys = c.array<std::uint64_t>(count),
                .sorted_keys = c.array<std::uint64_t>(count),
                .indices = c.array<std::uint32_t>(count),
                .sorted_indices = c.array<std::uint32_t>(count),
                .count = count};
  TRY(check(sort(nullptr, made.temporary_bytes, made, nullptr), "cub::SortPairs"));
  c.share(made.temporary_bytes);
  return made;
}

result<void> ordering::enqueue(const any_tensor& to, std::byte* temporary, lane& where) const {
  TRY(launch(number, (count - 1) / threads + 1, threads, where.stream(), indices, count));
  std::size_t bytes = temporary_bytes;
  TRY(check(sort(temporary, bytes, *this, where.stream()), "cub::SortPairs"));
  return to.type() == dtype::i32 ? enqueue_store<std::int32_t>(sorted_indices, to, where)
                                 : enqueue_store<std::int64_t>(sorted_indices, to, where);
}

}  // namespace troupe::cuda
