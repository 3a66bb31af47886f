#pragma once

#include "device/endpoint.hpp"

#include <troupe/core/future.hpp>
#include <troupe/tensor/tensor.hpp>

#include <memory>

namespace troupe {

/// Whether the program itself can read a device's memory: the device has stopped, and its memory is
/// the program's. (The program cannot see a GPU's memory.)
[[nodiscard]] bool can_read_without_worker(device_endpoint& core) noexcept;

/// Copies out of the memory of such a device, on the device thread, so that neither the end of a
/// worker nor a restart comes between. Answers false, and has copied nothing, if the device serves
/// again. `to` is the program's memory, or host memory.
/// \errors those of `memory::copy`
[[nodiscard]] future<bool> copy_without_worker(const std::shared_ptr<device_endpoint>& core,
                                               const any_tensor& from, const any_tensor& to);

}  // namespace troupe
