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

/// A kernel as one lane knows it: loaded, with all that is checked before a launch. The thread that
/// has the lane has it.
struct launchable {
  struct parameter {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  std::shared_ptr<void> image{};  ///< keeps what the function is of
  CUfunction function = nullptr;
  std::vector<parameter> parameters{};       ///< as the image says
  std::optional<jit::signature> declared{};  ///< as its name says
  int most_threads = 0;                      ///< of a block
  int static_shared_bytes = 0;
  int most_dynamic_shared_bytes = 0;  ///< that it may be allowed
  bool shared_is_raised = false;      ///< it has been allowed that
  bool clusters_are_raised = false;   ///< of more than 8 blocks

  // Of the launch before, for the next one.
  std::vector<std::int64_t> fitting{};  ///< `arguments::codes` that were found to fit
  struct parameter_values {
    std::vector<void*> pointers{};
    std::vector<std::byte*> addresses{};
    std::vector<CUtensorMap> maps{};
  };
  parameter_values values{};
};

/// The kernel of a request: one that the lane knows, or loaded now. An image is loaded once for all
/// lanes of a context, so that they share its global variables. Valid as long as the lane is.
/// \errors `invalid_argument` for a kernel that the image does not have, and for an image whose
/// bytes are not those of its digest any more; `library_error` of the driver, with its log;
/// `out_of_memory`
[[nodiscard]] result<launchable*> kernel_of(const driver& d, lane& where, const jit::kernel& k);

}  // namespace troupe::cuda
