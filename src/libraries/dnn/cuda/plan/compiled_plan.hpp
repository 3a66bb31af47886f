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

/// A plan that this context can run. Any thread may run it, with its own handle.
class compiled_plan {
 public:
  /// Loads the plan on the calling thread, which takes tens of milliseconds. \errors those of cuDNN
  /// if the image is for another version or device
  [[nodiscard]] static result<std::unique_ptr<compiled_plan>> load(cudnnHandle_t library,
                                                                   plan_image image);

  /// The workspace of the frontend and of cuDNN together.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  [[nodiscard]] std::int64_t alternative() const noexcept { return image_.alternative; }
  /// The image without cuDNN's own form.
  [[nodiscard]] const plan_image& image() const noexcept { return image_; }
  [[nodiscard]] const std::string& engine() const noexcept { return image_.engine; }

  /// Enqueues the plan on the stream of `library`; `operands[i]` is the address of operand i + 1.
  [[nodiscard]] result<void> run(cudnnHandle_t library, std::span<std::byte* const> operands,
                                 std::byte* workspace, cudaStream_t stream);

  /// Makes the driver load the plan's kernels now rather than in the first run: records a run and
  /// never launches it. Changes the stream of `library`. Errors are ignored; the first real run
  /// reports them.
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
