#pragma once

#include "device/endpoint.hpp"

#include <troupe/core/future.hpp>
#include <troupe/tensor/tensor.hpp>

#include <memory>
#include <optional>

namespace troupe {

/// Copies from the memory of one device to that of another: `target` reads it where it is. Nothing
/// if it cannot, or one of the two serves no requests; then the copy goes through host memory.
/// Defined where worlds are, because it is a request for two devices.
/// \errors those of `memory::copy`
[[nodiscard]] std::optional<future<void>> copy_between(
    const std::shared_ptr<device_endpoint>& source, const std::shared_ptr<device_endpoint>& target,
    const any_tensor& from, const any_tensor& to);

}  // namespace troupe
