#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// The hardware that serves a device: a GPU as its vendor describes it, or the CPU, which has no
/// UUID and no architecture.
struct device_description {
  std::int32_t ordinal = 0;    ///< the vendor's number among the GPUs visible to the program
  std::string name{};          ///< the vendor's name for it
  std::string uuid{};          ///< the same in every process and after every reboot
  std::string architecture{};  ///< such as "sm_90"
  std::uint64_t memory_bytes = 0;
  /// Only one process may use the GPU (exclusive compute mode), so the device has no standby.
  bool one_process = false;
};

}  // namespace troupe
