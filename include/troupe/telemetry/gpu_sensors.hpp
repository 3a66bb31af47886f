#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The sensors of a GPU as its driver reports them; empty if it does not.
struct gpu_sensors {
  std::chrono::steady_clock::time_point at{};  ///< when they were read
  std::optional<double> power_watts{};
  std::optional<double> power_limit_watts{};
  std::optional<double> temperature_celsius{};
  std::optional<double> utilization{};         ///< part of the last moments with a kernel running
  std::optional<double> memory_utilization{};  ///< likewise with memory being read or written
  std::optional<double> sm_clock_hertz{};
  std::optional<double> memory_clock_hertz{};
  std::optional<std::uint64_t> memory_used_bytes{};  ///< by all processes
  std::optional<std::uint64_t> memory_total_bytes{};
  std::optional<std::uint64_t> corrected_ecc_errors{};  ///< since the driver was loaded
  std::optional<std::uint64_t> uncorrected_ecc_errors{};
  /// Why the clocks are lower than they could be: "power", "thermal", "hardware", …; empty if they
  /// are not. Not set if the driver does not say.
  std::optional<std::vector<std::string>> throttled_by{};
};

}  // namespace troupe
