#pragma once

#include <troupe/base/error.hpp>

namespace troupe::cpu {

/// The answer to a request that needs a GPU's kernels.
[[nodiscard]] inline error no_kernels() {
  return error{.code = errc::unsupported,
               .message =
                   "the CPU backend runs no kernels of CUDA: send it to a GPU, or bring an "
                   "operation of your own for the CPU (device_config::own_operations)"};
}

}  // namespace troupe::cpu
