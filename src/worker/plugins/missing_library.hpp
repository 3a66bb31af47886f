#pragma once

#include <string>
#include <string_view>

namespace troupe::worker {

/// A library whose plugin exists but cannot be loaded: its requests are refused, by name.
struct missing_library {
  std::string name;  ///< as requests name it: "blas"
  std::string why;
};

/// The reason why the plugin at `path` cannot be loaded, and the remedy. `message` is the loader's
/// message: if it names a vendor library of which another major version exists, the text says so.
[[nodiscard]] std::string why_missing(std::string_view path, std::string_view message);

}  // namespace troupe::worker
