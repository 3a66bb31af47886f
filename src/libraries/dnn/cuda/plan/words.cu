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

}  // namespace troupe::cuda
