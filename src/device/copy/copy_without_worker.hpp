#pragma once

#include "device/submission/device_core.hpp"

#include <troupe/core/future.hpp>
#include <troupe/tensor/tensor.hpp>

#include <memory>

namespace troupe {

/// Whether the program itself can read what a device has in its memory: it has stopped, and that is
/// memory of the program. (Of a GPU's the program has no view.)
[[nodiscard]] bool can_read_without_worker(device_core& core) noexcept;

/// Copies out of the memory of such a device, on the device thread, so that neither a worker that
/// ends nor a restart comes between. Answers false, and has done nothing, where it serves again.
/// `to` is the program's memory, or host memory.
/// \errors those of `memory::copy`
[[nodiscard]] future<bool> copy_without_worker(const std::shared_ptr<device_core>& core,
                                               const any_tensor& from, const any_tensor& to);

}  // namespace troupe
