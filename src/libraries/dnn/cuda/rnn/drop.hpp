#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda::rnn {

/// Selects the numbers of [t, b, width] that are dropped.
struct dropped_sequences {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t width = 0;
  bool time_first = true;  ///< in memory; numbers are always counted time first
  std::uint64_t seed = 0;
  std::uint64_t first_word = 0;
  double dropout = 0;
};
/// Enqueues to = from with dropout; both may be the same.
[[nodiscard]] cudaError_t enqueue_dropped(const dropped_sequences& s, dtype type,
                                          const std::byte* from, std::byte* to,
                                          cudaStream_t stream);

}  // namespace troupe::cuda::rnn
