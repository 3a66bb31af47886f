#pragma once

#include <optional>
#include <string>
#include <vector>

namespace troupe::info {

/// A plugin that workers load: a backend, or a vendor library of one.
struct plugin {
  std::string name;  ///< "cuda-blas" for libtroupe-cuda-blas.so
  std::string path;
  std::optional<std::string> problem{};  ///< why it cannot be loaded
};

/// The folder that workers load plugins from.
[[nodiscard]] std::string plugin_folder();

/// Every plugin there, and the backends that should be, by name. Tries to load each.
[[nodiscard]] std::vector<plugin> plugins();

/// What to do about a plugin's problem.
[[nodiscard]] std::string remedy(const plugin& p);

}  // namespace troupe::info
