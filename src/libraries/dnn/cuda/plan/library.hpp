#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>

#include <cudnn.h>

#include <memory>
#include <string_view>

namespace troupe::cuda {

/// Converts a status to success or to an error with its name, cuDNN's message and the call. If
/// `stream` reports that the context is lost, that is the error, whatever cuDNN reports.
[[nodiscard]] result<void> check(cudnnStatus_t status, std::string_view call,
                                 cudaStream_t stream = nullptr);

/// 10 · major + minor of the current context's device.
[[nodiscard]] result<int> compute_capability();

/// A cuDNN handle of the current context, for one thread.
class cudnn_handle {
 public:
  /// \errors `version_mismatch` if parts of cuDNN were loaded from different folders;
  /// `out_of_memory`, `library_error`
  [[nodiscard]] static result<cudnn_handle> make();

  [[nodiscard]] cudnnHandle_t get() const noexcept { return handle_.get(); }

 private:
  struct destroy {
    void operator()(cudnnHandle_t handle) const noexcept { (void)cudnnDestroy(handle); }
  };
  explicit cudnn_handle(cudnnHandle_t handle) noexcept : handle_(handle) {}

  std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, destroy> handle_;
};

/// The handle of a lane, which enqueues on the lane's stream. It is made when it is first needed.
[[nodiscard]] result<cudnnHandle_t> cudnn_of(lane& where);

/// A descriptor of cuDNN's backend.
class cudnn_descriptor {
 public:
  [[nodiscard]] static result<cudnn_descriptor> make(cudnnBackendDescriptorType_t type);

  [[nodiscard]] cudnnBackendDescriptor_t get() const noexcept { return native_.get(); }
  [[nodiscard]] result<void> set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 std::int64_t count, const void* values);
  [[nodiscard]] result<void> finalize();

 private:
  struct destroy {
    void operator()(cudnnBackendDescriptor_t one) const noexcept {
      (void)cudnnBackendDestroyDescriptor(one);
    }
  };
  explicit cudnn_descriptor(cudnnBackendDescriptor_t native) noexcept : native_(native) {}

  std::unique_ptr<void, destroy> native_;
};

}  // namespace troupe::cuda
