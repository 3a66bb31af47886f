#include "device/world/device_links.hpp"

#include "device/local/device_registry.hpp"

#include <troupe/core/system.hpp>

namespace troupe {

device_link link_between(local_device& reader, local_device& owner) {
  device_link found;
  // A worker in the program maps its own device's memory only.
  if (reader.config().isolation == isolation::thread ||
      owner.config().isolation == isolation::thread) {
    return found;
  }
  if (!reader.config().peer_access || !owner.config().peer_access) return found;
  const auto& from = reader.memory().source();
  const auto& to = owner.memory().source();
  if (!from && !to) return {.through = device_link::kind::shared_memory, .native_atomics = true};
  if (from && to) from->describe_link(*to, found);
  return found;
}

device_topology system::topology() {
  const auto devices = device_registry::of(*this)->devices();
  device_topology all;
  for (const auto& reader : devices) {
    all.devices.push_back(reader->ordinal());
    for (const auto& owner : devices) {
      if (owner == reader) continue;
      all.pairs.push_back({.reader = reader->ordinal(),
                           .owner = owner->ordinal(),
                           .link = link_between(*reader, *owner)});
    }
  }
  return all;
}

std::string_view to_string(device_link::kind k) noexcept {
  switch (k) {
    case device_link::kind::host:
      return "host";
    case device_link::kind::shared_memory:
      return "shared_memory";
    case device_link::kind::same_gpu:
      return "same_gpu";
    case device_link::kind::nvlink:
      return "nvlink";
    case device_link::kind::pcie:
      return "pcie";
  }
  return "unknown";
}

}  // namespace troupe
