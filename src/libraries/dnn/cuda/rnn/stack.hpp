#pragma once

#include "libraries/dnn/cuda/rnn/descriptors.hpp"
#include "libraries/dnn/requests/rnn_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::cuda::rnn {

/// What cuDNN knows of layers that it runs in one call, whatever their number of steps and
/// sequences.
struct stack {
  network_descriptor native;
  /// Where it wants each row of gates of each parameter, in the order of `rnn_parameters` of the
  /// layers alone: bytes from the beginning.
  std::vector<std::size_t> places{};
  std::size_t weight_bytes = 0;
};

/// What decides about a stack.
struct stack_key {
  dnn::rnn_network network{};  ///< of these layers alone, without dropout
  std::int64_t input = 0;
  dtype type{};
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;

  [[nodiscard]] bool operator==(const stack_key& other) const noexcept;
};

/// The algorithm that is the faster one for layers without dropout, inference and training alike.
/// `whole`: every sequence has every step. cuDNN may not have it.
[[nodiscard]] cudnnRNNAlgo_t preferred_algorithm(const stack_key& of, std::int64_t batch,
                                                 bool whole) noexcept;

/// The stacks of a lane, the last ones used.
class stacks {
 public:
  /// Those of the lane. \errors those of cuDNN
  [[nodiscard]] static result<stacks*> of(lane& where);

  [[nodiscard]] cudnnHandle_t library() const noexcept { return library_; }
  /// Valid until the next request. \errors `unsupported` for what cuDNN does not have
  [[nodiscard]] result<const stack*> find(const stack_key& key);

 private:
  stacks(cudnnHandle_t library, dropout_descriptor no_dropout) noexcept
      : library_(library), no_dropout_(std::move(no_dropout)) {}
  [[nodiscard]] result<stack> make(const stack_key& key) const;

  struct entry {
    stack_key key;
    std::unique_ptr<stack> what;
  };
  cudnnHandle_t library_;
  dropout_descriptor no_dropout_;
  std::vector<entry> entries_;
};

}  // namespace troupe::cuda::rnn
