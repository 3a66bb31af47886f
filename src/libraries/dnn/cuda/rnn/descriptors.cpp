#include "libraries/dnn/cuda/rnn/descriptors.hpp"

#include "base/try.hpp"

#include <array>
#include <utility>

namespace troupe::cuda::rnn {

cudnnDataType_t data_type_of(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
      return CUDNN_DATA_DOUBLE;
    case dtype::f16:
      return CUDNN_DATA_HALF;
    case dtype::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

result<sequence_descriptor> describe_sequences(dtype type, const sequences& s, std::int64_t width) {
  cudnnRNNDataDescriptor_t native = nullptr;
  TRY(check(cudnnCreateRNNDataDescriptor(&native), "cudnnCreateRNNDataDescriptor"));
  sequence_descriptor owned(native);
  std::array<std::byte, sizeof(double)> zero{};
  const auto layout = s.time_first ? CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
                                   : CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED;
  TRY(check(cudnnSetRNNDataDescriptor(native, data_type_of(type), layout, static_cast<int>(s.steps),
                                      static_cast<int>(s.batch), static_cast<int>(width),
                                      s.lengths.data(), zero.data()),
            "cudnnSetRNNDataDescriptor"));
  return owned;
}

result<tensor_descriptor> describe_states(dtype type, std::int64_t states, std::int64_t batch,
                                          std::int64_t width) {
  cudnnTensorDescriptor_t native = nullptr;
  TRY(check(cudnnCreateTensorDescriptor(&native), "cudnnCreateTensorDescriptor"));
  tensor_descriptor owned(native);
  const std::array extents{static_cast<int>(states), static_cast<int>(batch),
                           static_cast<int>(width)};
  const std::array strides{extents[1] * extents[2], extents[2], 1};
  TRY(check(
      cudnnSetTensorNdDescriptor(native, data_type_of(type), 3, extents.data(), strides.data()),
      "cudnnSetTensorNdDescriptor"));
  return owned;
}

result<dropout_descriptor> describe_no_dropout(cudnnHandle_t library) {
  cudnnDropoutDescriptor_t native = nullptr;
  TRY(check(cudnnCreateDropoutDescriptor(&native), "cudnnCreateDropoutDescriptor"));
  dropout_descriptor owned(native);
  TRY(check(cudnnSetDropoutDescriptor(native, library, 0, nullptr, 0, 0),
            "cudnnSetDropoutDescriptor"));
  return owned;
}

}  // namespace troupe::cuda::rnn
