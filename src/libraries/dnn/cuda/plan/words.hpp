#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::cuda {

/// Enqueues a store of these words, which are read before it returns: unlike a copy from the host's
/// memory it never waits for the stream.
[[nodiscard]] cudaError_t enqueue_words(std::span<const std::uint32_t> words, std::byte* to,
                                        cudaStream_t stream);
/// The same of one word, `count` times.
[[nodiscard]] cudaError_t enqueue_word(std::uint32_t word, std::int64_t count, std::byte* to,
                                       cudaStream_t stream);
/// Of 0, `step`, 2 · `step` and so on, in 64 bits.
[[nodiscard]] cudaError_t enqueue_multiples(std::int64_t step, std::int64_t count, std::byte* to,
                                            cudaStream_t stream);
/// Of numbers that lie `step` apart, and 1 in the place of smaller ones.
[[nodiscard]] cudaError_t enqueue_at_least_one(const std::int32_t* from, std::int64_t step,
                                               std::int64_t count, std::byte* to,
                                               cudaStream_t stream);

}  // namespace troupe::cuda
