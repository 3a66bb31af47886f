#include "backend/cuda/context/launch.cuh"
#include "base/try.hpp"
#include "libraries/fft/cuda/caller_info.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cuda {
namespace {

// Words are passed as a launch parameter, which is copied: no host memory has to outlive the
// launch.
struct words_parameter {
  long words[caller_info::most_words];
};

__global__ void write_words(const __grid_constant__ words_parameter from, unsigned count,
                            long* to) {
  if (threadIdx.x < count) to[threadIdx.x] = from.words[threadIdx.x];
}

constexpr std::size_t place_bytes = (caller_info::most_words * sizeof(long) + 255) / 256 * 256;

}  // namespace

result<std::shared_ptr<caller_info>> caller_info::make() {
  std::shared_ptr<caller_info> made(new caller_info);
  void* memory = nullptr;
  TRY(check(cudaMalloc(&memory, most_places * place_bytes), "cudaMalloc"));
  made->memory_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < most_places; ++i)
    made->free_.push_back(reinterpret_cast<long*>(made->memory_ + i * place_bytes));
  return made;
}

caller_info::~caller_info() { (void)cudaFree(memory_); }

long* caller_info::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  long* const place = free_.back();
  free_.pop_back();
  return place;
}

void caller_info::give_back(long* place) {
  const std::lock_guard lock(mutex_);
  free_.push_back(place);
}

result<void> enqueue_words(std::span<const long> words, long* place, cudaStream_t stream) {
  words_parameter parameter;
  std::ranges::copy(words, parameter.words);
  constexpr unsigned threads = (caller_info::most_words + 31) / 32 * 32;
  return launch(write_words, 1, threads, stream, parameter, static_cast<unsigned>(words.size()),
                place);
}

result<void> load_caller_info_kernel() { return load(write_words); }

}  // namespace troupe::cuda
