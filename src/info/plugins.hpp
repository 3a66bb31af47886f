#pragma once

#include "info/entry.hpp"

#include <string>
#include <vector>

namespace troupe::info {

/// A plugin that workers load: a backend, or one of its vendor libraries.
struct plugin {
  std::string name;  ///< "cuda-blas" for libtroupe-cuda-blas.so
  std::string path;
};

/// The folder that workers load plugins from.
[[nodiscard]] std::string plugin_folder();

/// All plugins in it, and the backends that should be in it, by name. Loads none.
[[nodiscard]] std::vector<plugin> plugins();

/// Loads it: reports success, or the reason of the failure.
[[nodiscard]] entry loaded(const plugin& p);

/// Loads it, and lists the libraries inside it.
[[nodiscard]] std::vector<entry> libraries_inside(const plugin& p);

}  // namespace troupe::info
