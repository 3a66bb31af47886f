#include "device/local/device_registry.hpp"
#include "telemetry/trace_events.hpp"

#include <troupe/telemetry/trace.hpp>

#include <algorithm>

namespace troupe {
namespace {

constexpr std::chrono::hours longest_trace{24};  // so that no time overflows

}  // namespace

std::string trace_json(const system& s, std::chrono::nanoseconds last) {
  last =
      std::clamp(last, std::chrono::nanoseconds::zero(), std::chrono::nanoseconds(longest_trace));
  const auto since = std::chrono::steady_clock::now() - last;
  const auto day = std::chrono::system_clock::now() - last;
  trace_events made;
  for (const auto& one : device_registry::devices_of(s)) {
    for (const device_event& e : one->events(0)) {
      if (e.at >= day) made.add(e);
    }
    if (one->recorder() == nullptr) continue;
    for (const flight_record& r : one->recorder()->since(since))
      made.add(one->ordinal(), r);
  }
  made.end();
  return made.take();
}

std::optional<std::string> trace_of_loss(const system& s, std::int32_t device,
                                         std::uint64_t event) {
  for (const auto& one : device_registry::devices_of(s)) {
    if (one->ordinal() != device || one->recorder() == nullptr) continue;
    const auto kept = one->recorder()->of_loss(event);
    if (!kept) return std::nullopt;
    trace_events made;
    made.add(kept->loss);
    for (const flight_record& r : kept->requests)
      made.add(device, r);
    made.end();
    return made.take();
  }
  return std::nullopt;
}

}  // namespace troupe
