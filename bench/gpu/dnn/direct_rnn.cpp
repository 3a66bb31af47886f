#include "gpu/dnn/direct_rnn.hpp"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::bench::raw {
namespace {

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + ": " + cudnnGetErrorString(status));
}
void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

}  // namespace

struct cudnn_lstm::parts {
  cudaStream_t stream = nullptr;
  cudnnHandle_t handle = nullptr;
  cudnnDropoutDescriptor_t no_dropout = nullptr;
  cudnnRNNDescriptor_t network = nullptr;
  cudnnRNNDataDescriptor_t sequences = nullptr;
  cudnnTensorDescriptor_t states = nullptr;
  std::size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  std::unique_ptr<memory> x, y, dx, dy, weights, dweights, work, reserve;

  ~parts() {
    if (states != nullptr) (void)cudnnDestroyTensorDescriptor(states);
    if (sequences != nullptr) (void)cudnnDestroyRNNDataDescriptor(sequences);
    if (network != nullptr) (void)cudnnDestroyRNNDescriptor(network);
    if (no_dropout != nullptr) (void)cudnnDestroyDropoutDescriptor(no_dropout);
    if (handle != nullptr) (void)cudnnDestroy(handle);
  }

  std::unique_ptr<memory> zeros(std::size_t bytes) const {
    auto made = std::make_unique<memory>(memory::place::device, bytes);
    check(cudaMemsetAsync(made->address(), 0, bytes, stream), "cudaMemsetAsync");
    return made;
  }
  void forward(cudnnForwardMode_t mode) const {
    const bool training = mode == CUDNN_FWD_MODE_TRAINING;
    check(cudnnRNNForward(handle, network, mode, nullptr, sequences, x->address(), sequences,
                          y->address(), states, nullptr, nullptr, states, nullptr, nullptr,
                          weight_bytes, weights->address(), work_bytes, work->address(),
                          training ? reserve_bytes : 0, training ? reserve->address() : nullptr),
          "cudnnRNNForward");
  }
};

cudnn_lstm::cudnn_lstm(stream& on, const lstm_sizes& what) : parts_(std::make_unique<parts>()) {
  parts& p = *parts_;
  p.stream = static_cast<cudaStream_t>(on.native());
  check(cudnnCreate(&p.handle), "cudnnCreate");
  check(cudnnSetStream(p.handle, p.stream), "cudnnSetStream");
  check(cudnnCreateDropoutDescriptor(&p.no_dropout), "cudnnCreateDropoutDescriptor");
  check(cudnnSetDropoutDescriptor(p.no_dropout, p.handle, 0, nullptr, 0, 0),
        "cudnnSetDropoutDescriptor");
  const bool half = what.type == dtype::f16;
  const auto type = half ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
  const auto math = half ? CUDNN_TENSOR_OP_MATH : what.tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  const auto width = static_cast<int>(what.hidden);
  check(cudnnCreateRNNDescriptor(&p.network), "cudnnCreateRNNDescriptor");
  check(cudnnSetRNNDescriptor_v8(
            p.network, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
            CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, type, CUDNN_DATA_FLOAT, math, width, width,
            width, static_cast<int>(what.layers), p.no_dropout, CUDNN_RNN_PADDED_IO_ENABLED),
        "cudnnSetRNNDescriptor_v8");
  const std::vector<int> lengths(static_cast<std::size_t>(what.batch),
                                 static_cast<int>(what.steps));
  double zero = 0;
  check(cudnnCreateRNNDataDescriptor(&p.sequences), "cudnnCreateRNNDataDescriptor");
  check(cudnnSetRNNDataDescriptor(p.sequences, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                  static_cast<int>(what.steps), static_cast<int>(what.batch), width,
                                  lengths.data(), &zero),
        "cudnnSetRNNDataDescriptor");
  const std::array extents{static_cast<int>(what.layers), static_cast<int>(what.batch), width};
  const std::array strides{extents[1] * extents[2], extents[2], 1};
  check(cudnnCreateTensorDescriptor(&p.states), "cudnnCreateTensorDescriptor");
  check(cudnnSetTensorNdDescriptor(p.states, type, 3, extents.data(), strides.data()),
        "cudnnSetTensorNdDescriptor");
  check(cudnnGetRNNWeightSpaceSize(p.handle, p.network, &p.weight_bytes),
        "cudnnGetRNNWeightSpaceSize");
  check(cudnnGetRNNTempSpaceSizes(p.handle, p.network, CUDNN_FWD_MODE_TRAINING, p.sequences,
                                  &p.work_bytes, &p.reserve_bytes),
        "cudnnGetRNNTempSpaceSizes");
  std::size_t inference = 0;
  std::size_t none = 0;
  check(cudnnGetRNNTempSpaceSizes(p.handle, p.network, CUDNN_FWD_MODE_INFERENCE, p.sequences,
                                  &inference, &none),
        "cudnnGetRNNTempSpaceSizes");
  p.work_bytes = std::max(p.work_bytes, inference);
  const auto bytes =
      static_cast<std::size_t>(what.steps * what.batch * what.hidden * size_of(what.type));
  for (auto* sequence : {&p.x, &p.y, &p.dx, &p.dy})
    *sequence = p.zeros(bytes);
  p.weights = p.zeros(p.weight_bytes);
  p.dweights = p.zeros(p.weight_bytes);
  p.work = p.zeros(p.work_bytes);
  p.reserve = p.zeros(p.reserve_bytes);
}
cudnn_lstm::~cudnn_lstm() = default;

void cudnn_lstm::infer() { parts_->forward(CUDNN_FWD_MODE_INFERENCE); }

void cudnn_lstm::train() {
  const parts& p = *parts_;
  p.forward(CUDNN_FWD_MODE_TRAINING);
  check(cudnnRNNBackwardData_v8(p.handle, p.network, nullptr, p.sequences, p.y->address(),
                                p.dy->address(), p.sequences, p.dx->address(), p.states, nullptr,
                                nullptr, nullptr, p.states, nullptr, nullptr, nullptr,
                                p.weight_bytes, p.weights->address(), p.work_bytes,
                                p.work->address(), p.reserve_bytes, p.reserve->address()),
        "cudnnRNNBackwardData_v8");
  check(cudaMemsetAsync(p.dweights->address(), 0, p.weight_bytes, p.stream), "cudaMemsetAsync");
  check(cudnnRNNBackwardWeights_v8(p.handle, p.network, CUDNN_WGRAD_MODE_ADD, nullptr, p.sequences,
                                   p.x->address(), p.states, nullptr, p.sequences, p.y->address(),
                                   p.weight_bytes, p.dweights->address(), p.work_bytes,
                                   p.work->address(), p.reserve_bytes, p.reserve->address()),
        "cudnnRNNBackwardWeights_v8");
}

}  // namespace troupe::bench::raw
