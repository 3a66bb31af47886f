#pragma once

#include <troupe/telemetry/gpu_sensors.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cuda {

/// The management library (libnvidia-ml.so.1), found at run time; without it, or without the right
/// to use it, faults are merely noticed later. Any thread may call it.
class nvml_device {
 public:
  /// Nothing if it is unavailable.
  [[nodiscard]] static std::unique_ptr<nvml_device> open(const std::string& uuid);
  ~nvml_device();
  nvml_device(const nvml_device&) = delete;
  nvml_device& operator=(const nvml_device&) = delete;

  /// Waits for a critical Xid event of the device; its number, or nothing after `timeout`.
  [[nodiscard]] std::optional<std::uint64_t> wait_for_xid(std::chrono::milliseconds timeout);
  /// The processes with a context on the device; nothing if unknown.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> processes();
  struct level {
    std::uint64_t free = 0;
    std::uint64_t total = 0;
  };
  [[nodiscard]] std::optional<level> memory();
  /// The sensors that the driver and the device have; takes milliseconds.
  [[nodiscard]] gpu_sensors sensors();

 private:
  nvml_device() = default;
  void* device_ = nullptr;
  void* events_ = nullptr;  // null if events are unavailable
};

}  // namespace troupe::cuda
