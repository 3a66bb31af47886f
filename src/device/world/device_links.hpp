#pragma once

#include "device/local/local_device.hpp"

#include <troupe/device/topology.hpp>

namespace troupe {

/// How the workers of `reader` reach the memory of `owner`, another device of the same system.
[[nodiscard]] device_link link_between(local_device& reader, local_device& owner);

}  // namespace troupe
