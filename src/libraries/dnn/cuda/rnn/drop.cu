#include "libraries/dnn/cuda/rnn/drop.hpp"
#include "libraries/rng/shared/philox.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

namespace troupe::cuda::rnn {
namespace {

template <class T>
struct computed {
  using type = float;
};
template <>
struct computed<double> {
  using type = double;
};

// One thread per four words.
template <class T>
__global__ void drop_numbers(dropped_sequences s, std::uint64_t threshold,
                             typename computed<T>::type factor, const T* from, T* to) {
  using real = typename computed<T>::type;
  const std::int64_t count = s.steps * s.batch * s.width;
  const std::uint64_t first_block = s.first_word / 4;
  const std::uint64_t blocks =
      (s.first_word + static_cast<std::uint64_t>(count) + 3) / 4 - first_block;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < blocks;
       i += stride) {
    const rng::words<4> drawn = rng::philox_block(s.seed, 0, first_block + i);
    for (int j = 0; j < 4; ++j) {
      const std::int64_t n = static_cast<std::int64_t>((first_block + i) * 4 + j - s.first_word);
      if (n < 0 || n >= count) continue;
      std::int64_t place = n;
      if (!s.time_first) {
        const std::int64_t row = n / s.width;
        place = (row % s.batch * s.steps + row / s.batch) * s.width + n % s.width;
      }
      const bool kept = drawn.word[j] >= threshold;
      to[place] = kept ? static_cast<T>(static_cast<real>(from[place]) * factor) : T(real{0});
    }
  }
}

unsigned blocks_for(std::int64_t threads) {
  constexpr std::int64_t most_blocks = 4096;
  return static_cast<unsigned>(std::clamp<std::int64_t>((threads + 255) / 256, 1, most_blocks));
}

template <class T>
cudaError_t enqueue_typed(const dropped_sequences& s, const std::byte* from, std::byte* to,
                          cudaStream_t stream) {
  using real = typename computed<T>::type;
  const std::int64_t count = s.steps * s.batch * s.width;
  const auto threshold = static_cast<std::uint64_t>(std::ceil(std::ldexp(s.dropout, 32)));
  drop_numbers<T><<<blocks_for(count / 4 + 2), 256, 0, stream>>>(
      s, threshold, static_cast<real>(1 / (1 - s.dropout)), reinterpret_cast<const T*>(from),
      reinterpret_cast<T*>(to));
  return cudaGetLastError();
}

}  // namespace

cudaError_t enqueue_dropped(const dropped_sequences& s, dtype type, const std::byte* from,
                            std::byte* to, cudaStream_t stream) {
  switch (type) {
    case dtype::f64:
      return enqueue_typed<double>(s, from, to, stream);
    case dtype::f16:
      return enqueue_typed<__half>(s, from, to, stream);
    case dtype::bf16:
      return enqueue_typed<__nv_bfloat16>(s, from, to, stream);
    default:
      return enqueue_typed<float>(s, from, to, stream);
  }
}

}  // namespace troupe::cuda::rnn
