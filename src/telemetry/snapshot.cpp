#include "core/system_core.hpp"
#include "device/local/device_registry.hpp"

#include <troupe/base/version.hpp>
#include <troupe/core/system.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

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
  for (actor_status& one : actors()) {
    ++now.actors;
    if (one.mailbox <= 0) continue;
    const auto messages = static_cast<std::uint64_t>(one.mailbox);
    now.actor_messages += messages;
    now.longest_mailboxes.push_back({.path = std::move(one.path), .messages = messages});
  }
  constexpr std::size_t most_mailboxes = 8;
  const std::size_t kept = std::min(now.longest_mailboxes.size(), most_mailboxes);
  std::ranges::partial_sort(now.longest_mailboxes,
                            now.longest_mailboxes.begin() + static_cast<std::ptrdiff_t>(kept),
                            std::ranges::greater{}, &waiting_actor::messages);
  now.longest_mailboxes.resize(kept);
  now.dead_letters = dead_letter_count();
  for (const auto& one : device_registry::devices_of(*this))
    now.devices.push_back(one->telemetry());
  return now;
}

}  // namespace troupe
