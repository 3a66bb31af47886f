#pragma once

#include <troupe/base/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Finds the vendor's compilers, without loading them into the program.
namespace troupe::jit {

struct vendor_file {
  std::string path{};
  std::string identity{};  ///< changes with the file: its real path, its size, its time
};

/// One of the vendor's libraries: its name, its purpose, and a configured place besides the
/// loader's folders.
struct wanted_library {
  std::string_view soname;
  std::string_view product;       ///< "NVRTC"
  std::string_view setting;       ///< the field of `compiler_config` that names a file
  const std::string& configured;  ///< its value
};

/// The file that the loader would take: from LD_LIBRARY_PATH, from the folders that ld.so.conf.d
/// lists, from the system's; or from the toolkit at $CUDA_HOME, $CUDA_PATH or /usr/local/cuda.
/// \errors `library_missing` with every folder that was tried
[[nodiscard]] result<vendor_file> find_library(const wanted_library& wanted);

/// The folder of the toolkit's headers, with its identity: beside one of its libraries, or in one
/// of the toolkits above. \errors `library_missing` with everything that was tried
[[nodiscard]] result<vendor_file> find_toolkit_headers(const std::string& library);

/// "580.159.04", or "none": the version of the loaded kernel module.
[[nodiscard]] std::string driver_version();

}  // namespace troupe::jit
