#pragma once

#include "libraries/dnn/cuda/plan/library.hpp"
#include "libraries/dnn/cuda/plan/owned.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace troupe::cuda::rnn {

/// Everything that determines a request's calls: its numbers, and the addresses of its memory.
using call_words = std::vector<std::uint64_t>;

/// Requests of a lane that repeat with the same memory, as in a training loop. For each, cuDNN
/// enqueues hundreds of kernels, which takes longer than running them. So the second time they are
/// recorded as a graph, and from the third time on the graph is launched.
class recorded_calls {
 public:
  /// The recorded calls of the lane. \errors those of CUDA
  [[nodiscard]] static result<recorded_calls*> of(lane& where);

  /// Runs `enqueue` on the lane's stream, or on another stream to record it. For equal words it
  /// must enqueue the same work.
  [[nodiscard]] result<void> run(call_words words,
                                 const std::function<result<void>(cudaStream_t)>& enqueue);

 private:
  struct entry {
    call_words words;
    std::uint64_t last_use = 0;
    bool refused = false;  ///< cannot be recorded
    owned<cudaGraphExec_t> graph{};
    owned<cudaEvent_t> launched{};

    [[nodiscard]] bool runs() const noexcept;
  };

  recorded_calls(cudnnHandle_t library, cudaStream_t stream, owned<cudaStream_t> apart) noexcept
      : library_(library), stream_(stream), apart_(std::move(apart)) {}

  entry* find(const call_words& words);
  void remember(call_words words);
  [[nodiscard]] result<void> record(entry& e,
                                    const std::function<result<void>(cudaStream_t)>& enqueue);
  [[nodiscard]] result<void> launch(entry& e);

  cudnnHandle_t library_;
  cudaStream_t stream_;
  owned<cudaStream_t> apart_;  ///< for recording: nothing else uses this stream
  std::vector<entry> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace troupe::cuda::rnn
