#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe::info {

class found_library;

/// The user of NVRTC and nvJitLink, in place of a plugin.
inline constexpr std::string_view compiler_of_kernels = "compiler";

/// A library of NVIDIA's that Troupe has, or will have, a plugin for.
struct vendor_library {
  std::string_view name;
  std::string_view soname;     ///< exactly the loaded one: another major version is another library
  std::string_view used_by;    ///< the plugin, such as "cuda-blas", or `compiler_of_kernels`
  std::string_view built_for;  ///< "" if this build has not seen its headers
  /// Asks the library itself; nothing if it does not tell.
  std::optional<std::string> (*version)(const found_library& library);
};

[[nodiscard]] std::span<const vendor_library> vendor_libraries();

/// The state of a vendor library on this machine.
struct vendor_finding {
  std::string found;                   ///< its version; "" if it could not be loaded
  std::string path;                    ///< the file
  std::optional<std::string> problem;  ///< why it could not be loaded, or its defect
};
[[nodiscard]] vendor_finding look_for(const vendor_library& library);

/// True if `found` is an older version than `wanted`; both are numbers with dots.
[[nodiscard]] bool older(std::string_view found, std::string_view wanted);

}  // namespace troupe::info
