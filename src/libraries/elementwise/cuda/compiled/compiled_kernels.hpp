#pragma once

#include "backend/cuda/driver.hpp"
#include "libraries/elementwise/cuda/kernel_plan.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe::cuda {

/// The kernels of one program and layout, compiled in the background. The thread that finds the
/// image finished loads it and publishes `ready` (release). Lanes check it before each launch
/// (acquire), and interpret until then.
struct compiled_kernel {
  enum class state : std::uint8_t { compiling, ready, failed };
  std::atomic<state> now{state::compiling};
  std::map<std::string, CUfunction, std::less<>> functions;  ///< complete once `ready`
  std::string failure;                                       ///< complete once `failed`

  /// Waits until the compilation has ended.
  void wait() const { now.wait(state::compiling, std::memory_order_acquire); }
};

/// The kernels of the current context with this key. The first call for a key lets another thread
/// write and compile `source()`, without waiting.
[[nodiscard]] result<std::shared_ptr<compiled_kernel>> compiled_for(
    const driver& d, key_words key, std::vector<std::string> names,
    std::function<std::string()> source);

}  // namespace troupe::cuda
