#pragma once

#include "device/local/local_device.hpp"
#include "wire/world_words.hpp"

#include <troupe/device/world_config.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Which requests of a world go by NCCL, and when it is to be connected. Thread-safe.
class world_transport {
 public:
  using clock = std::chrono::steady_clock;

  world_transport(const std::vector<std::shared_ptr<local_device>>& devices,
                  const world_config& config, bool through_host);

  /// Why NCCL may not be used in this world; empty if it may.
  [[nodiscard]] const std::string& excluded() const noexcept { return excluded_; }
  [[nodiscard]] static bool is_connect(const request_type& type) noexcept;
  /// The connection that a request goes by; 0 for kernels of Troupe's own. \errors `unsupported`
  /// for what NCCL cannot do in a world of `transport::nccl`
  [[nodiscard]] result<std::uint64_t> connection_for(const request_type& type, const void* request,
                                                     wire::world_page& page);
  /// True if a request to connect should be sent now. Then it is false for a while.
  [[nodiscard]] bool wants_to_connect(wire::world_page& page, clock::time_point now);
  /// A request to connect has this number.
  void connects(std::uint64_t number);
  /// True once a request to connect was sent.
  [[nodiscard]] bool has_connected() const noexcept {
    return has_connected_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] nccl_health health(const wire::world_page& page) const;

 private:
  [[nodiscard]] bool is_ready(const wire::world_page& page) const noexcept;
  void break_if_lost(wire::world_page& page);

  const std::vector<std::shared_ptr<local_device>>& devices_;
  const transport how_;
  const std::string excluded_;

  std::atomic<bool> has_connected_{false};  // spares most worlds the mutex
  mutable std::mutex mutex_;                // guards the rest; a leaf
  std::uint64_t current_ = 0;
  std::vector<std::uint64_t> generations_;  // the devices', when it was sent
  std::uint64_t attempts_ = 0;
  std::uint64_t operations_ = 0;
  clock::time_point next_attempt_{};
  std::chrono::milliseconds delay_{0};
};

}  // namespace troupe
