#pragma once

#include <troupe/base/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Where the vendor's compilers are, without loading them into the program.
namespace troupe::jit {

struct vendor_file {
  std::string path{};
  std::string identity{};  ///< another one for another file: its real path, its size, its time
};

/// One of the vendor's libraries: what it is called, what it is for, and where else than in the
/// loader's folders it may be.
struct wanted_library {
  std::string_view soname;
  std::string_view product;       ///< "NVRTC"
  std::string_view setting;       ///< of `compiler_config`, that names a file
  const std::string& configured;  ///< what it says
};

/// The file that the loader would take: of LD_LIBRARY_PATH, of the folders that ld.so.conf.d lists,
/// of the system's; or of a toolkit that $CUDA_HOME, $CUDA_PATH or /usr/local/cuda is.
/// \errors `library_missing` with every folder that was tried
[[nodiscard]] result<vendor_file> find_library(const wanted_library& wanted);

/// The folder of the toolkit's headers, with its identity: beside a library of it, or of the
/// toolkits above. \errors `library_missing` with what was tried
[[nodiscard]] result<vendor_file> find_toolkit_headers(const std::string& library);

/// "580.159.04", or "none": the version of the kernel module that is loaded.
[[nodiscard]] std::string driver_version();

}  // namespace troupe::jit
