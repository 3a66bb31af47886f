#pragma once

#include "device/endpoint.hpp"
#include "device/local/request_trace.hpp"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

namespace troupe {

class local_device;

/// A request that has its slot and can no longer be refused; see `local_device::prepare`. If it is
/// dropped, it gives the slot back, and nothing has happened. Must not outlive its device.
class prepared_request {
 public:
  prepared_request() noexcept = default;
  prepared_request(prepared_request&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        slot_(other.slot_),
        next_(other.next_),
        is_watched_(other.is_watched_),
        rare_(std::move(other.rare_)) {}
  prepared_request& operator=(prepared_request&&) = delete;
  ~prepared_request() {
    if (device_ != nullptr) [[unlikely]]
      drop();
  }

 private:
  friend class local_device;
  /// Options that few requests have.
  struct rare {
    bool has_run_limit = false;
    std::stop_token stop{};
    std::unique_ptr<request_trace> trace{};
  };
  void drop() noexcept;

  local_device* device_ = nullptr;  // null: it holds no slot
  std::uint16_t slot_ = 0;
  device_endpoint::next_in_lane next_ = device_endpoint::next_in_lane::is_unknown;
  bool is_watched_ = false;  // an operand is tainted, or may become so
  std::unique_ptr<rare> rare_;
};

}  // namespace troupe
