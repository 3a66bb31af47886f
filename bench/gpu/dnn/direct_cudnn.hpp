#pragma once

#include "gpu/raw/raw.hpp"

#include <troupe/dnn/attention.hpp>
#include <troupe/dnn/convolution.hpp>

#include <memory>

namespace troupe::bench::raw {

/// cuDNN called directly, in this program's own context: a request's operands are addresses there.
/// The plan is made from the graph that Troupe makes, so both sides run the same engine.
class cudnn_plan {
 public:
  cudnn_plan(stream& on, const dnn::convolution_forward& what);
  cudnn_plan(stream& on, const dnn::convolution_backward_data& what);
  cudnn_plan(stream& on, const dnn::convolution_backward_filter& what);
  cudnn_plan(stream& on, const dnn::attention_forward& what);
  cudnn_plan(stream& on, const dnn::attention_backward& what);
  ~cudnn_plan();
  cudnn_plan(const cudnn_plan&) = delete;
  cudnn_plan& operator=(const cudnn_plan&) = delete;

  /// Enqueues it.
  void run();
  /// Time that cuDNN took to make it, in ms.
  [[nodiscard]] double build_ms() const noexcept;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe::bench::raw
