#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/driver.hpp"
#include "libraries/jit/requests/signature.hpp"

#include <troupe/jit/kernel.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::cuda {

/// A kernel as one lane knows it: loaded, with everything that is checked before a launch. Only the
/// thread of the lane uses it.
struct launchable {
  struct parameter {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  std::shared_ptr<void> image{};  ///< keeps the image of `function` alive
  CUfunction function = nullptr;
  std::vector<parameter> parameters{};       ///< from the image
  std::optional<jit::signature> declared{};  ///< from the name
  int most_threads = 0;                      ///< per block
  int static_shared_bytes = 0;
  int most_dynamic_shared_bytes = 0;  ///< the most that may be requested
  bool shared_is_raised = false;      ///< it has been requested
  bool clusters_are_raised = false;   ///< for more than 8 blocks

  // Cached from the last launch.
  std::vector<std::int64_t> fitting{};  ///< `arguments::codes` that fit
  struct parameter_values {
    std::vector<void*> pointers{};
    std::vector<std::byte*> addresses{};
    std::vector<CUtensorMap> maps{};
  };
  parameter_values values{};
};

/// Returns the kernel of a request, and loads it if the lane does not know it. An image is loaded
/// once for all lanes of a context, so that they share its global variables. Valid as long as the
/// lane is. \errors `invalid_argument` if the image does not have the kernel, or if the image's
/// bytes no longer match its digest; `library_error` of the driver, with its log; `out_of_memory`
[[nodiscard]] result<launchable*> kernel_of(const driver& d, lane& where, const jit::kernel& k);

}  // namespace troupe::cuda
