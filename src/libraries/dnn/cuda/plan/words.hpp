#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::cuda {

/// Enqueues a store of these words, which are read before it returns. Unlike a copy from host
/// memory, it never waits for the stream.
[[nodiscard]] cudaError_t enqueue_words(std::span<const std::uint32_t> words, std::byte* to,
                                        cudaStream_t stream);

}  // namespace troupe::cuda
