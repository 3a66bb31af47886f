#pragma once

#include <troupe/base/export.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe {

/// How the workers of one device reach the memory of another.
struct device_link {
  enum class kind : std::uint8_t {
    host,           ///< they cannot map it; what they exchange passes through host memory
    shared_memory,  ///< memory of the program that both map
    same_gpu,       ///< both devices are on one GPU
    nvlink,
    pcie,
  };
  kind through = kind::host;
  /// The driver's, to compare links of one kind: less is faster.
  std::int32_t performance_rank = 0;
  /// Whether atomic operations on that memory are atomic for both devices.
  bool native_atomics = false;

  /// Whether they can map it.
  [[nodiscard]] bool is_direct() const noexcept { return through != kind::host; }
  friend bool operator==(const device_link&, const device_link&) = default;
};
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(device_link::kind k) noexcept;

/// How the devices of a system reach each other's memory.
struct device_topology {
  struct pair {
    std::int32_t reader = 0;  ///< number of the device whose workers reach
    std::int32_t owner = 0;   ///< the memory of this one
    device_link link;
  };
  std::vector<std::int32_t> devices;  ///< numbers, ascending
  std::vector<pair> pairs;            ///< every ordered pair, by reader, then by owner
};

}  // namespace troupe
