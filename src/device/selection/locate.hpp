#pragma once

#include <troupe/base/export.hpp>
#include <troupe/device/config.hpp>

#include <string>
#include <string_view>

namespace troupe {

// The files beside this library: `../libexec/troupe` and `troupe/`, relative to the folder of the
// shared library, or of the program that it is linked into. Exported for `troupe info`.

/// The worker named by the config, else the program itself if it has operations of its own, else
/// the worker beside this library.
[[nodiscard]] TROUPE_EXPORT std::string worker_executable(const device_config& config);

/// The plugin of a backend, by its name ("cpu", "cuda").
[[nodiscard]] TROUPE_EXPORT std::string backend_plugin(std::string_view backend);

/// The program that compiles kernels.
[[nodiscard]] TROUPE_EXPORT std::string compiler_program();

}  // namespace troupe
