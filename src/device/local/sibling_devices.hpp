#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace troupe {

class world_core;

/// What the devices of a system have in common. The registry owns it, and devices refer to it.
struct sibling_devices {
  /// Held while a request for several devices is published.
  const std::shared_ptr<std::mutex> order = std::make_shared<std::mutex>();

  std::mutex mutex;  // guards the next one
  /// The worlds of two devices, by their numbers, the smaller one first. Made for copies between
  /// them.
  std::map<std::pair<std::int32_t, std::int32_t>, std::shared_ptr<world_core>> pairs;

  /// Another device gets this number.
  void forget(std::int32_t ordinal) {
    const std::lock_guard lock(mutex);
    std::erase_if(pairs, [ordinal](const auto& one) {
      return one.first.first == ordinal || one.first.second == ordinal;
    });
  }
};

}  // namespace troupe
