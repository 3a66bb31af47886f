#pragma once

#include <troupe/device/config.hpp>

#include <string>

namespace troupe {

/// Where a device's worker and its backend are.
struct worker_files {
  std::string executable;
  std::string plugin;  ///< empty when the config asks for none
};

/// The paths that the config gives, else those beside this library: `../libexec/troupe` and
/// `troupe/` from the folder of the shared library, or of the program that it is linked into.
[[nodiscard]] worker_files locate_worker_files(const device_config& config);

}  // namespace troupe
