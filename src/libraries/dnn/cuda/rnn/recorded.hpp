#pragma once

#include "libraries/dnn/cuda/plan/library.hpp"
#include "libraries/dnn/cuda/plan/owned.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace troupe::cuda::rnn {

/// What decides about everything that a request enqueues: its numbers, and where its memory lies.
using call_words = std::vector<std::uint64_t>;

/// Requests of a lane that come again with the same memory, as those of a training loop do. cuDNN
/// enqueues some hundred kernels for each, which takes longer than to run them, so the second time
/// they are recorded as a graph, and from the third time on the graph is launched.
class recorded_calls {
 public:
  /// Those of the lane. \errors those of CUDA
  [[nodiscard]] static result<recorded_calls*> of(lane& where);

  /// Enqueues what `enqueue` does on the stream that it is given, which is the lane's, or for
  /// recording another one. It must do the same for equal words.
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
  owned<cudaStream_t> apart_;  ///< recorded on: nothing else sees a stream that records
  std::vector<entry> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace troupe::cuda::rnn
