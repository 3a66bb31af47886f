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

/// How many there are of each sequence.
struct sequence_counts {
  const std::int32_t* of = nullptr;
  std::int64_t all = 0;  ///< of each, where `of` is null
};

/// Rows of heads, [b, h, s, d] with any strides (elements), of queries or of keys.
struct masked_rows {
  std::byte* at = nullptr;
  std::int64_t extents[4]{};
  std::int64_t strides[4]{};
  int element_bytes = 0;  ///< 1, 2 or 4
  /// Of packed sequences, in elements; the first stride is then not used, nor are rows beyond a
  /// length.
  const std::int64_t* offsets = nullptr;
  sequence_counts lengths{};  ///< of these sequences
  sequence_counts others{};   ///< of those that they attend to, or are attended by
  /// The others of row i are from i + shift − left to i + shift + right, −1 being no bound.
  std::int64_t left = -1;
  std::int64_t right = -1;
  bool ends_meet = false;  ///< the shift is the difference of the lengths, else 0
  masking_bias bias{};
  std::uint32_t word = 0;  ///< what elements become of a row that has no other
  /// Not 0 for a sequence of which all elements become `nan`; null for none.
  const std::int32_t* wrong = nullptr;
  std::uint32_t nan = 0;
};
/// Of the results of one request.
struct masked_results {
  static constexpr unsigned most = 3;
  masked_rows of[most]{};
  unsigned count = 0;
};
/// Enqueues a store of its `word` to each row that is beyond its sequence's length, or has no other
/// but by a bias of −∞, in one launch, which is set up while what it follows still runs.
[[nodiscard]] cudaError_t enqueue_store_masked_out(const masked_results& all, cudaStream_t stream);

}  // namespace troupe::cuda
