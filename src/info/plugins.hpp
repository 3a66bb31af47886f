#pragma once

#include "info/entry.hpp"

#include <string>
#include <vector>

namespace troupe::info {

/// A plugin that workers load: a backend, or a vendor library of one.
struct plugin {
  std::string name;  ///< "cuda-blas" for libtroupe-cuda-blas.so
  std::string path;
};

/// The folder that workers load plugins from.
[[nodiscard]] std::string plugin_folder();

/// Every plugin there, and the backends that should be, by name. Loads none.
[[nodiscard]] std::vector<plugin> plugins();

/// Loads it: says whether that can be done, or why not.
[[nodiscard]] entry loaded(const plugin& p);

/// Loads it, and says what libraries are inside it.
[[nodiscard]] std::vector<entry> libraries_inside(const plugin& p);

}  // namespace troupe::info
