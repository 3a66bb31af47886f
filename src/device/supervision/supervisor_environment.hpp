#pragma once

#include "device/supervision/incarnation.hpp"

#include <troupe/base/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// Events of a worker since the last call.
struct worker_events {
  bool ended = false;
  bool has_spoken = false;
};

/// The environment of a supervisor: time, and workers. A test that simulates both passes its own
/// environment, and calls the supervisor's turns itself.
class supervisor_environment {
 public:
  using clock = std::chrono::steady_clock;

  supervisor_environment() = default;
  supervisor_environment(const supervisor_environment&) = delete;
  supervisor_environment& operator=(const supervisor_environment&) = delete;
  virtual ~supervisor_environment() = default;

  [[nodiscard]] virtual clock::time_point now() const noexcept = 0;
  virtual void pause(clock::duration how_long) noexcept = 0;
  [[nodiscard]] virtual result<std::unique_ptr<incarnation>> start_worker(
      const worker_plan& plan, std::uint64_t number, const std::vector<frozen_range>& frozen) = 0;

  /// Called if there is no device thread, which would get these events itself.
  [[nodiscard]] virtual worker_events events_of(const incarnation& worker) = 0;
  [[nodiscard]] virtual bool has_device_thread() const noexcept = 0;

  [[nodiscard]] static supervisor_environment& real() noexcept;
};

}  // namespace troupe
