#pragma once

#include <troupe/base/export.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

class system;

/// The last moments of all devices, in the Trace Event Format, which Perfetto (ui.perfetto.dev)
/// shows: the requests that their flight recorders have (`metrics_config`), and their events.
[[nodiscard]] TROUPE_EXPORT std::string trace_json(const system& s, std::chrono::nanoseconds last);

/// The same of the two seconds before a device lost a worker, by the number of that event. Nothing
/// if the device has not kept it: it keeps those of its last four losses.
[[nodiscard]] TROUPE_EXPORT std::optional<std::string> trace_of_loss(const system& s,
                                                                     std::int32_t device,
                                                                     std::uint64_t event);

}  // namespace troupe
