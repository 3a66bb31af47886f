#pragma once

#include "libraries/dnn/requests/rnn_shape.hpp"

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
/// Those between a layer and the next one.
[[nodiscard]] inline dropped_sequences dropped_after(const dnn::rnn_network& network,
                                                     const dnn::rnn_shape& s, std::int64_t layer,
                                                     bool time_first) noexcept {
  return {.steps = s.steps,
          .batch = s.batch,
          .width = s.width(),
          .time_first = time_first,
          .seed = network.seed,
          .first_word = static_cast<std::uint64_t>(network.offset + layer * s.rows() * s.width()),
          .dropout = network.dropout};
}
/// Enqueues to = from with dropout; both may be the same.
[[nodiscard]] cudaError_t enqueue_dropped(const dropped_sequences& s, dtype type,
                                          const std::byte* from, std::byte* to,
                                          cudaStream_t stream);

}  // namespace troupe::cuda::rnn
