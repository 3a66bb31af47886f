#pragma once

#include "libraries/dnn/cuda/rnn/descriptors.hpp"
#include "libraries/dnn/requests/rnn_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::cuda::rnn {

/// cuDNN's descriptors of the layers that run in one call. They do not depend on the number of
/// steps and sequences.
struct stack {
  network_descriptor native;
  /// The offset in bytes of each row of gates of each parameter in cuDNN's layout, in the order of
  /// `rnn_parameters` for these layers alone.
  std::vector<std::size_t> places{};
  std::size_t weight_bytes = 0;
};

/// Everything that determines a stack.
struct stack_key {
  dnn::rnn_network network{};  ///< these layers only, without dropout
  std::int64_t input = 0;
  dtype type{};
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;

  [[nodiscard]] bool operator==(const stack_key& other) const noexcept;
};

/// The faster algorithm for layers without dropout, for inference and training alike. `whole`:
/// every sequence has every step. cuDNN may not support it.
[[nodiscard]] cudnnRNNAlgo_t preferred_algorithm(const stack_key& of, std::int64_t batch,
                                                 bool whole) noexcept;

/// The most recently used stacks of a lane.
class stacks {
 public:
  /// The stacks of the lane. \errors those of cuDNN
  [[nodiscard]] static result<stacks*> of(lane& where);

  [[nodiscard]] cudnnHandle_t library() const noexcept { return library_; }
  /// The result is valid until the next request. \errors `unsupported` if cuDNN does not support it
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
