#pragma once

#include "backend/cuda/driver.hpp"
#include "memory/device_source.hpp"

#include <troupe/device/device_description.hpp>

#include <string>
#include <string_view>

/// Explains why an existing device cannot be used, with the remedy. Needs no context.
namespace troupe::cuda {

/// True if code built for `architectures` (as CMake lists them: "80;90a;100-virtual") runs on a
/// device of that compute capability. Source: CUDA C++ Programming Guide, "Application
/// Compatibility" and "Family-Specific Features".
[[nodiscard]] bool runs_on(std::string_view architectures, int major, int minor) noexcept;

/// \errors `device_unavailable` for a device whose compute mode is prohibited, or that this build
/// has no code for
[[nodiscard]] result<void> check_usable(const driver& d, CUdevice device,
                                        const device_description& described);

/// The remedy if the driver refused a context.
[[nodiscard]] std::string how_to_get_a_context(const driver& d, CUdevice device);

}  // namespace troupe::cuda
