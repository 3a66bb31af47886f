#pragma once

#include <string>
#include <string_view>

namespace troupe::worker {

/// A library whose plugin is there and cannot be loaded: its requests are refused, by name.
struct missing_library {
  std::string name;  ///< as requests name it: "blas"
  std::string why;
};

/// Why the plugin at `path` cannot be loaded, and what to do. `words` are the loader's: where they
/// name a vendor library of which another major version is there, that is said.
[[nodiscard]] std::string why_missing(std::string_view path, std::string_view words);

}  // namespace troupe::worker
