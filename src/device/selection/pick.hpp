#pragma once

#include <troupe/base/result.hpp>
#include <troupe/device/device_group.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// The index of the device that the options prefer. `turn` counts the picks of `round_robin`.
/// \errors `device_unavailable` with each device's reason
[[nodiscard]] result<std::size_t> pick_from(std::span<const device_snapshot> all,
                                            const pick_options& options, std::uint64_t turn);

}  // namespace troupe
