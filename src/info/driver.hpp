#pragma once

#include <optional>
#include <string>

namespace troupe::info {

/// The NVIDIA driver of this machine, found without creating anything on a GPU.
struct driver_version {
  std::string release{};  ///< "580.159.04"; "" if unknown
  std::string cuda{};     ///< the newest CUDA it runs, "13.0"
};

/// Nothing if there is none.
[[nodiscard]] std::optional<driver_version> find_driver();

}  // namespace troupe::info
