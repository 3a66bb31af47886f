#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// What serves a device: a GPU as its vendor describes it, or the CPU, which has neither UUID nor
/// architecture.
struct device_description {
  std::int32_t ordinal = 0;    ///< among those that the program may see, as the vendor counts
  std::string name{};          ///< as the vendor calls it
  std::string uuid{};          ///< the same for every process and on every start of the machine
  std::string architecture{};  ///< such as "sm_90"
  std::uint64_t memory_bytes = 0;
  /// Only one process may use it (compute mode exclusive), so that there is no standby.
  bool one_process = false;
};

}  // namespace troupe
