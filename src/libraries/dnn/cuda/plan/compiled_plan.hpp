#pragma once

#include "libraries/dnn/cuda/plan/library.hpp"
#include "libraries/dnn/cuda/plan/plan_image.hpp"

#include <troupe/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

namespace troupe::cuda {

/// A plan that this context can run. Any thread may, with a handle of its own.
class compiled_plan {
 public:
  /// Loads it, which takes tens of milliseconds, on whatever thread. \errors those of cuDNN for an
  /// image that is of another version or device
  [[nodiscard]] static result<std::unique_ptr<compiled_plan>> load(cudnnHandle_t library,
                                                                   plan_image image);

  /// Of frontend and cuDNN together.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  [[nodiscard]] std::int64_t alternative() const noexcept { return image_.alternative; }
  /// Without cuDNN's own form.
  [[nodiscard]] const plan_image& image() const noexcept { return image_; }
  [[nodiscard]] const std::string& engine() const noexcept { return image_.engine; }

  /// Enqueues it on the stream of `library`; `operands[i]` is the address of operand i + 1.
  [[nodiscard]] result<void> run(cudnnHandle_t library, std::span<std::byte* const> operands,
                                 std::byte* workspace, cudaStream_t stream);

  /// Has the driver load its kernels, which otherwise the first run does: by a run that is recorded
  /// and never launched. Changes the stream of `library`. What fails here is for a run to say.
  void load_code(cudnnHandle_t library);

 private:
  compiled_plan(cudnn_descriptor native, plan_image image, std::size_t workspace_bytes) noexcept
      : native_(std::move(native)), image_(std::move(image)), workspace_bytes_(workspace_bytes) {}

  [[nodiscard]] result<void> preset(std::byte* workspace, cudaStream_t stream);
  [[nodiscard]] result<void> execute(cudnnHandle_t library, std::span<std::byte* const> operands,
                                     std::byte* workspace, cudaStream_t stream);

  cudnn_descriptor native_;
  plan_image image_;
  std::size_t workspace_bytes_;
  std::mutex mutex_;  // cuDNN does not say that two threads may run one plan at once
};

}  // namespace troupe::cuda
