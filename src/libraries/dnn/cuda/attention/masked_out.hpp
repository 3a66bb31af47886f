#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// A bias, added to the scores of [b, h, s_q, s_kv]; steps count elements, 0 repeats.
struct masking_bias {
  const std::byte* at = nullptr;  ///< null: nothing
  int element_bytes = 0;          ///< 2 or 4
  std::uint32_t infinite = 0;     ///< the bits of −∞
  std::int64_t steps[4]{};
};

/// The length of each sequence.
struct sequence_counts {
  const std::int32_t* of = nullptr;
  std::int64_t all = 0;  ///< the length of every sequence if `of` is null
};

/// Rows of queries or keys, [b, h, s, d], with any strides (in elements).
struct masked_rows {
  std::byte* at = nullptr;
  std::int64_t extents[4]{};
  std::int64_t strides[4]{};
  int element_bytes = 0;  ///< 1, 2 or 4
  /// The offsets of packed sequences, in elements. If given, the first stride and rows beyond a
  /// length are not used.
  const std::int64_t* offsets = nullptr;
  sequence_counts lengths{};  ///< the sequences of these rows
  sequence_counts others{};   ///< the sequences that they attend to, or are attended to by
  /// Row i pairs with the rows i + shift − left to i + shift + right of the others; −1: no bound.
  std::int64_t left = -1;
  std::int64_t right = -1;
  bool ends_meet = false;  ///< shift is the difference of the lengths, otherwise 0
  masking_bias bias{};
  std::uint32_t word = 0;  ///< the bits stored to elements of a row that pairs with none
  /// For each sequence: if not 0, all its elements become `nan`. May be null.
  const std::int32_t* wrong = nullptr;
  std::uint32_t nan = 0;
};
/// All results of one request that are masked.
struct masked_results {
  static constexpr unsigned most = 3;
  masked_rows of[most]{};
  unsigned count = 0;
};
/// Enqueues one launch that stores `word` to each row that is beyond its sequence's length, or
/// whose pairs are all masked by a bias of −∞. The launch is set up while the preceding kernel
/// still runs.
[[nodiscard]] cudaError_t enqueue_store_masked_out(const masked_results& all, cudaStream_t stream);

}  // namespace troupe::cuda
