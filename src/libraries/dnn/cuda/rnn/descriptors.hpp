#pragma once

#include "libraries/dnn/cuda/plan/library.hpp"

#include <troupe/tensor/dtype.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::cuda::rnn {

/// Owns a descriptor of cuDNN's older interface.
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

/// Of a type that requests of this library have.
[[nodiscard]] cudnnDataType_t data_type_of(dtype type) noexcept;

/// Of sequences [t, b, width], which are 0 behind their ends where cuDNN writes them.
struct sequences {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  bool time_first = true;
  std::vector<int> lengths{};  ///< of each sequence
};
[[nodiscard]] result<sequence_descriptor> describe_sequences(dtype type, const sequences& s,
                                                             std::int64_t width);
/// Of packed states [states, b, width].
[[nodiscard]] result<tensor_descriptor> describe_states(dtype type, std::int64_t states,
                                                        std::int64_t batch, std::int64_t width);
/// That nothing is dropped.
[[nodiscard]] result<dropout_descriptor> describe_no_dropout(cudnnHandle_t library);

}  // namespace troupe::cuda::rnn
