#include "core/system_core.hpp"
#include "device/local/device_registry.hpp"

#include <troupe/base/version.hpp>
#include <troupe/core/system.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <algorithm>

namespace troupe {

std::string_view to_string(device_state state) noexcept {
  switch (state) {
    case device_state::starting:
      return "starting";
    case device_state::ready:
      return "ready";
    case device_state::recovering:
      return "recovering";
    case device_state::stopped:
      return "stopped";
    case device_state::condemned:
      return "condemned";
  }
  return "unknown";
}

telemetry_snapshot system::snapshot() const {
  telemetry_snapshot now;
  now.version = library_version;
  now.at = std::chrono::system_clock::now();
  now.steady = std::chrono::steady_clock::now();
  for (const actor_status& one : actors()) {
    ++now.actors;
    now.actor_messages += static_cast<std::uint64_t>(std::max(one.mailbox, std::int64_t{0}));
  }
  now.dead_letters = dead_letter_count();
  for (const auto& one : device_registry::devices_of(*this))
    now.devices.push_back(one->telemetry());
  return now;
}

}  // namespace troupe
