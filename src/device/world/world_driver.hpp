#pragma once

#include "device/completion/reactor.hpp"

#include <atomic>
#include <chrono>
#include <vector>

namespace troupe {

/// Completes requests for several devices on the thread that waits for one: polls all of them in
/// turn. Counts references, because futures may outlive the world.
class world_driver final : public completion_driver {
 public:
  explicit world_driver(std::vector<reactor*> of) noexcept;

  void drive_until(const future_state_base& state,
                   std::chrono::steady_clock::time_point deadline) noexcept override;
  void continuation_attached() noexcept override;
  void retain() noexcept override { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept override;

 private:
  ~world_driver() override;

  const std::vector<reactor*> of_;  // each holds a reference of this
  std::atomic<std::uint64_t> references_{1};
};

}  // namespace troupe
