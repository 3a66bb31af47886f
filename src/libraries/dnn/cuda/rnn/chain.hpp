#pragma once

#include "backend/cuda/context/pieces.hpp"
#include "libraries/dnn/cuda/rnn/drop.hpp"
#include "libraries/dnn/cuda/rnn/stack.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cuda::rnn {

/// A contiguous run of the weights, in Troupe's layout and in cuDNN's.
struct weight_run {
  std::size_t ours = 0;
  std::size_t theirs = 0;
  std::size_t bytes = 0;
};

/// One call of cuDNN within a request.
struct link {
  const stack* layers = nullptr;
  std::int64_t first_layer = 0;
  std::int64_t layer_count = 0;
  sequence_descriptor x;
  sequence_descriptor y;
  tensor_descriptor h;
  tensor_descriptor c;
  std::size_t workspace_bytes = 0;
  std::size_t reserve_bytes = 0;
  // Positions in the reserve. For every call but the last, the reserve also holds y and its copy
  // after dropout.
  std::size_t reserve_at = 0;
  std::size_t y_at = 0;
  std::size_t dropped_at = 0;
  std::vector<weight_run> weights;
};

/// The calls of a request, from the lowest layer up: one call for all layers, or with dropout
/// between layers, one call for each.
class chain {
 public:
  /// `whole`: every sequence has every step; cuDNN has another algorithm for this.
  [[nodiscard]] static result<chain> make(const dnn::rnn_network& network, const dnn::rnn_shape& s,
                                          dtype type, const std::vector<std::int64_t>& lengths,
                                          bool whole, bool lies_time_first, bool training,
                                          lane& where);

  [[nodiscard]] cudnnHandle_t library() const noexcept { return library_; }
  [[nodiscard]] const std::vector<link>& links() const noexcept { return links_; }
  [[nodiscard]] cudnnForwardMode_t mode() const noexcept {
    return training_ ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  }
  /// The reserve of all calls.
  [[nodiscard]] std::size_t reserve_bytes() const noexcept { return reserve_.bytes(); }
  /// The largest workspace of any call.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_; }
  /// The size of the values between two layers.
  [[nodiscard]] std::size_t joint_bytes() const noexcept { return joint_; }
  /// The size of a state h (or c) of all layers and directions below this call.
  [[nodiscard]] std::size_t states_before(const link& l, bool cell_state) const noexcept {
    return static_cast<std::size_t>(l.first_layer * s_.directions * s_.batch *
                                    (cell_state ? s_.hidden : s_.output) * size_of(type_));
  }
  /// Enqueues to = from with the dropout between this call's layers and those of the next call.
  [[nodiscard]] result<void> enqueue_drop(const link& below, const std::byte* from, std::byte* to,
                                          cudaStream_t stream) const;
  /// The weights of a call if Troupe's layout equals cuDNN's, otherwise null.
  [[nodiscard]] std::byte* in_place(const link& l, std::byte* ours) const noexcept;
  [[nodiscard]] result<void> gather(const link& l, const std::byte* ours, std::byte* theirs,
                                    cudaStream_t stream) const;
  [[nodiscard]] result<void> scatter(const link& l, const std::byte* theirs, std::byte* ours,
                                     cudaStream_t stream) const;
  /// The bytes that `gather` needs: the most of any call.
  [[nodiscard]] std::size_t weight_bytes() const noexcept { return weight_bytes_; }

 private:
  [[nodiscard]] result<void> add(std::int64_t first_layer, std::int64_t count, stacks& from);
  [[nodiscard]] result<void> take_stack(link& l, const stack_key& key, stacks& from) const;
  [[nodiscard]] std::vector<weight_run> runs_of(const link& l) const;

  cudnnHandle_t library_ = nullptr;
  dnn::rnn_network network_{};
  dnn::rnn_shape s_{};
  dtype type_{};
  bool training_ = false;
  bool whole_ = true;
  sequences sequences_{};
  std::vector<link> links_;
  pieces reserve_;
  std::size_t workspace_ = 0;
  std::size_t weight_bytes_ = 0;
  std::size_t joint_ = 0;
};

}  // namespace troupe::cuda::rnn
