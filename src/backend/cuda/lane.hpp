#pragma once

#include <troupe/backend/accelerator.hpp>

#include <cuda_runtime_api.h>

#include <memory>

namespace troupe::cuda {

/// A lane as executors see it: a stream of the worker's context, which is current on the calling
/// thread. An executor enqueues and returns; it never waits for the stream.
///
/// `workspace(bytes)` is device memory, aligned to 256 bytes, that is this executor's until what it
/// has enqueued on the lane has run; asking again invalidates what was handed out before.
class lane : public accelerator_lane {
 public:
  [[nodiscard]] virtual cudaStream_t stream() const noexcept = 0;
  /// What a library keeps with this lane, such as its handle; null until the library sets it. `key`
  /// is an address of the library's own.
  [[nodiscard]] virtual std::shared_ptr<void>& attachment(const void* key) = 0;
  /// Number of multiprocessors of the device.
  [[nodiscard]] virtual int multiprocessors() const noexcept = 0;
};

}  // namespace troupe::cuda
