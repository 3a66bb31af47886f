#pragma once

#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe {

class world_core;

/// The devices of a system among themselves. The registry owns it, and devices refer to it.
struct sibling_devices {
  /// Held while a request for several devices is published.
  const std::shared_ptr<std::mutex> order = std::make_shared<std::mutex>();

  std::mutex mutex;  // guards the next two
  /// Memory of worlds that have ended, at which threads of workers may still look.
  std::vector<any_tensor> kept;
  /// The worlds of two devices, by their numbers, the smaller one first. Made for copies between
  /// them.
  std::map<std::pair<std::int32_t, std::int32_t>, std::shared_ptr<world_core>> pairs;

  void keep(any_tensor of) {
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(of));
  }
  /// Another device gets this number.
  void forget(std::int32_t ordinal) {
    const std::lock_guard lock(mutex);
    std::erase_if(pairs, [ordinal](const auto& one) {
      return one.first.first == ordinal || one.first.second == ordinal;
    });
  }
};

}  // namespace troupe
