#pragma once

#include <troupe/telemetry/snapshot.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

/// Adds up device time by `request_options::tag`, for the first 64 tags; later ones count as none.
///
/// The holder of the reactor's role writes, any thread reads. A place is taken by its tag, with
/// release, and keeps it; its sums are relaxed, as each stands for itself.
class tag_times {
 public:
  void note(std::uint64_t tag, std::chrono::nanoseconds device) noexcept {
    place& to = of(tag);
    to.requests.store(to.requests.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    to.device_ns.store(to.device_ns.load(std::memory_order_relaxed) + device.count(),
                       std::memory_order_relaxed);
  }
  [[nodiscard]] std::vector<tag_time> read() const {
    std::vector<tag_time> all;
    for (const place& one : places_) {
      const std::uint64_t tag = one.tag.load(std::memory_order_acquire);
      const std::uint64_t requests = one.requests.load(std::memory_order_relaxed);
      if (requests == 0) continue;
      const std::chrono::nanoseconds device(one.device_ns.load(std::memory_order_relaxed));
      all.push_back({.tag = tag, .requests = requests, .device = device});
    }
    return all;
  }

 private:
  struct place {
    std::atomic<std::uint64_t> tag{0};
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::int64_t> device_ns{0};
  };

  [[nodiscard]] place& of(std::uint64_t tag) noexcept {
    if (tag == 0) return places_[0];
    for (std::size_t i = 1; i < places_.size(); ++i) {
      const std::uint64_t there = places_[i].tag.load(std::memory_order_relaxed);
      if (there == tag) return places_[i];
      if (there != 0) continue;
      places_[i].tag.store(tag, std::memory_order_release);
      return places_[i];
    }
    return places_[0];
  }

  std::array<place, 65> places_{};  // the first is for no tag
};

}  // namespace troupe
