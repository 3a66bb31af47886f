#pragma once

#include "device/supervision/incarnation.hpp"

#include <troupe/base/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// What a supervisor has around it: time, and workers. A test that simulates both puts its own in
/// the place of the real ones, and gives the supervisor its turns itself.
class surroundings {
 public:
  using clock = std::chrono::steady_clock;

  surroundings() = default;
  surroundings(const surroundings&) = delete;
  surroundings& operator=(const surroundings&) = delete;
  virtual ~surroundings() = default;

  [[nodiscard]] virtual clock::time_point now() const noexcept = 0;
  virtual void pause(clock::duration how_long) noexcept = 0;
  [[nodiscard]] virtual result<std::unique_ptr<incarnation>> start_worker(
      const worker_plan& plan, std::uint64_t number, const std::vector<frozen_range>& frozen) = 0;

  /// What has come from a worker since this was asked last.
  struct signs {
    bool ended = false;
    bool has_spoken = false;
  };
  /// Asked where there is no device thread, which hears of these itself.
  [[nodiscard]] virtual signs signs_of(const incarnation& worker) = 0;
  [[nodiscard]] virtual bool has_device_thread() const noexcept = 0;

  [[nodiscard]] static surroundings& real() noexcept;
};

}  // namespace troupe
