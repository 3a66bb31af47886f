#include "libraries/dnn/cuda/plan/words.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

constexpr unsigned most_words = 256;

struct some_words {
  std::uint32_t word[most_words];
};

__global__ void store_words(some_words words, std::uint32_t* to, unsigned count) {
  if (threadIdx.x < count) to[threadIdx.x] = words.word[threadIdx.x];
}

__global__ void store_word(std::uint32_t word, std::uint32_t* to, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = word;
}

__global__ void store_multiples(std::int64_t step, std::int64_t* to, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = i * step;
}

__global__ void store_at_least_one(const std::int32_t* from, std::int64_t step, std::int32_t* to,
                                   std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = max(from[i * step], 1);
}

constexpr unsigned threads = 256;

unsigned blocks_for(std::int64_t count) {
  constexpr std::int64_t most_blocks = 1024;
  return static_cast<unsigned>(std::min((count + threads - 1) / threads, most_blocks));
}

}  // namespace

cudaError_t enqueue_words(std::span<const std::uint32_t> words, std::byte* to,
                          cudaStream_t stream) {
  auto* at = reinterpret_cast<std::uint32_t*>(to);
  while (!words.empty()) {
    const auto count = static_cast<unsigned>(std::min<std::size_t>(words.size(), most_words));
    some_words now{};
    std::copy_n(words.begin(), count, now.word);
    store_words<<<1, most_words, 0, stream>>>(now, at, count);
    if (const cudaError_t refused = cudaGetLastError(); refused != cudaSuccess) return refused;
    words = words.subspan(count);
    at += count;
  }
  return cudaSuccess;
}

cudaError_t enqueue_word(std::uint32_t word, std::int64_t count, std::byte* to,
                         cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  store_word<<<blocks_for(count), threads, 0, stream>>>(word, reinterpret_cast<std::uint32_t*>(to),
                                                        count);
  return cudaGetLastError();
}

cudaError_t enqueue_multiples(std::int64_t step, std::int64_t count, std::byte* to,
                              cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  store_multiples<<<blocks_for(count), threads, 0, stream>>>(
      step, reinterpret_cast<std::int64_t*>(to), count);
  return cudaGetLastError();
}

cudaError_t enqueue_at_least_one(const std::int32_t* from, std::int64_t step, std::int64_t count,
                                 std::byte* to, cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  store_at_least_one<<<blocks_for(count), threads, 0, stream>>>(
      from, step, reinterpret_cast<std::int32_t*>(to), count);
  return cudaGetLastError();
}

}  // namespace troupe::cuda
