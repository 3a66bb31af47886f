#pragma once

#include "backend/cuda/context/failure.hpp"

#include <troupe/plugin/recorded_work.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Enqueues a kernel that looks at a condition and says which body its node runs. `rounds`: device
/// memory, where those of a loop are counted; `is_first`: before the node, and not at the end of
/// the loop's body. A loop that may not go on writes the failure to `reply`, see `late_failure`.
[[nodiscard]] result<void> set_condition(std::uint64_t handle, const recorded_condition& c,
                                         std::uint64_t* rounds, bool is_first, std::byte* reply,
                                         cudaStream_t stream);
/// Enqueues a kernel that stores a word, as a body of a condition can: it takes no other stores.
[[nodiscard]] result<void> store_word(std::uint64_t* where, std::uint64_t value,
                                      cudaStream_t stream);

}  // namespace troupe::cuda
