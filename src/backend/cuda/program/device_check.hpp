#pragma once

#include "backend/cuda/driver.hpp"
#include "memory/device_source.hpp"

#include <troupe/device/device_description.hpp>

#include <string>
#include <string_view>

/// Why a device that is there cannot be used, with the remedy. Asked without a context.
namespace troupe::cuda {

/// True when code built for `architectures` (as CMake lists them: "80;90a;100-virtual") runs on a
/// device of that compute capability. Source: CUDA C++ Programming Guide, "Application
/// Compatibility" and "Family-Specific Features".
[[nodiscard]] bool runs_on(std::string_view architectures, int major, int minor) noexcept;

/// \errors `device_unavailable` for a device whose compute mode lets nobody in, or that this build
/// has no code for
[[nodiscard]] result<void> check_usable(const driver& d, CUdevice device,
                                        const device_description& described);

/// How a context that the driver refused may be had.
[[nodiscard]] std::string how_to_get_a_context(const driver& d, CUdevice device);

}  // namespace troupe::cuda
