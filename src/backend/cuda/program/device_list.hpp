#pragma once

#include "backend/cuda/driver.hpp"
#include "memory/device_source.hpp"

#include <troupe/device/device_description.hpp>

#include <string_view>
#include <vector>

namespace troupe::cuda {

/// The devices that the driver shows, in its order; `CUDA_VISIBLE_DEVICES` has its effect.
[[nodiscard]] result<std::vector<device_description>> list_devices(const driver& d);

/// The driver's handle of the device with that UUID.
/// \errors `device_unavailable` with the existing UUIDs
[[nodiscard]] result<CUdevice> find_device(const driver& d, std::string_view uuid);

}  // namespace troupe::cuda
