#pragma once

#include "gpu/raw/raw.hpp"

#include <troupe/tensor/dtype.hpp>

#include <cstdint>
#include <memory>

namespace troupe::bench::raw {

/// An LSTM as it is measured: as wide inside as its input.
struct lstm_sizes {
  dtype type = dtype::f32;
  bool tf32 = false;
  std::int64_t layers = 2;
  std::int64_t steps = 50;
  std::int64_t batch = 64;
  std::int64_t hidden = 512;
};

/// cuDNN called directly, with descriptors that were made before, in this program's own context.
class cudnn_lstm {
 public:
  cudnn_lstm(stream& on, const lstm_sizes& what);
  ~cudnn_lstm();
  cudnn_lstm(const cudnn_lstm&) = delete;
  cudnn_lstm& operator=(const cudnn_lstm&) = delete;

  // Each enqueues.
  void infer();
  void train();  ///< forward and both gradients

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe::bench::raw
