#pragma once

#include "libraries/dnn/cuda/plan/library.hpp"

#include <troupe/tensor/dtype.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::cuda::rnn {

/// Owns a descriptor of cuDNN's older API.
template <class Native, cudnnStatus_t (*Destroy)(Native)>
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(Native native) noexcept : native_(native) {}
  [[nodiscard]] Native get() const noexcept { return native_.get(); }

 private:
  struct destroy {
    void operator()(Native native) const noexcept { (void)Destroy(native); }
  };
  std::unique_ptr<std::remove_pointer_t<Native>, destroy> native_;
};
using network_descriptor = descriptor<cudnnRNNDescriptor_t, &cudnnDestroyRNNDescriptor>;
using sequence_descriptor = descriptor<cudnnRNNDataDescriptor_t, &cudnnDestroyRNNDataDescriptor>;
using tensor_descriptor = descriptor<cudnnTensorDescriptor_t, &cudnnDestroyTensorDescriptor>;
using dropout_descriptor = descriptor<cudnnDropoutDescriptor_t, &cudnnDestroyDropoutDescriptor>;

/// Converts an element type; it must be one that this library's requests allow.
[[nodiscard]] cudnnDataType_t data_type_of(dtype type) noexcept;

/// Sequences [t, b, width]. cuDNN writes 0 behind the end of each.
struct sequences {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  bool time_first = true;
  std::vector<int> lengths{};  ///< per sequence
};
[[nodiscard]] result<sequence_descriptor> describe_sequences(dtype type, const sequences& s,
                                                             std::int64_t width);
/// Describes packed states [states, b, width].
[[nodiscard]] result<tensor_descriptor> describe_states(dtype type, std::int64_t states,
                                                        std::int64_t batch, std::int64_t width);
/// Describes dropout with probability 0.
[[nodiscard]] result<dropout_descriptor> describe_no_dropout(cudnnHandle_t library);

}  // namespace troupe::cuda::rnn
