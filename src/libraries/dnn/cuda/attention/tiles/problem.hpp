#pragma once

#include "libraries/dnn/cuda/elements.hpp"

/// An attention request as Troupe's own kernels see it. A host compiler accepts these files, too,
/// so that tests run the kernels without a GPU.
namespace troupe::cuda::tiles {

inline constexpr int threads = 256;  ///< per block

/// Rows of heads of a tensor in any layout. Steps and positions count elements.
struct head_rows {
  std::byte* at = nullptr;
  dtype type = dtype::f32;
  std::int64_t sequence_step = 0;
  std::int64_t head_step = 0;
  std::int64_t row_step = 0;
  std::int64_t step = 0;
  const std::int64_t* offsets = nullptr;  ///< packed sequences only
  const std::int32_t* table = nullptr;    ///< pages: `per_sequence` entries for each sequence
  std::int64_t per_sequence = 0;
  std::int64_t page_size = 1;

  [[nodiscard]] KERNEL_FUNCTION std::int64_t row(std::int64_t sequence, std::int64_t head,
                                                 std::int64_t i) const {
    const std::int64_t of_head = head * head_step;
    if (table != nullptr) {
      return table[sequence * per_sequence + i / page_size] * sequence_step + of_head +
             i % page_size * row_step;
    }
    return (offsets != nullptr ? offsets[sequence] : sequence * sequence_step) + of_head +
           i * row_step;
  }
};

/// [b, h, s_q, s_kv or 1]; a step of 0 repeats.
struct score_rows {
  std::byte* at = nullptr;
  dtype type = dtype::f32;
  std::int64_t steps[4]{};

  [[nodiscard]] KERNEL_FUNCTION std::int64_t place(std::int64_t sequence, std::int64_t head,
                                                   std::int64_t query, std::int64_t key) const {
    return sequence * steps[0] + head * steps[1] + query * steps[2] + key * steps[3];
  }
};

/// [h]: a number of each query head.
struct head_numbers {
  std::byte* at = nullptr;
  dtype type = dtype::f32;
  std::int64_t step = 0;

  template <class Real>
  [[nodiscard]] KERNEL_FUNCTION Real of(std::int64_t head) const {
    return element<Real>(at, type, head * step);
  }
};

struct problem {
  std::int64_t batch = 0, heads = 0, key_heads = 0, value_heads = 0;
  std::int64_t s_q = 0, s_kv = 0, d = 0, d_v = 0;
  head_rows q, k, v, o;
  score_rows statistics, bias;
  score_rows allowed;  ///< bytes: 0 for keys that a query may not attend to
  head_numbers sinks;
  const std::int32_t* lengths_q = nullptr;  ///< checked; null: sequences have full length
  const std::int32_t* lengths_kv = nullptr;
  /// With lengths: if not 0, the content of the sequence is out of range, and its results are NaN.
  const std::int32_t* wrong = nullptr;
  double scale = 1;
  double soft_cap = 0;  ///< 0: none
  std::int64_t left = -1, right = -1;
  bool ends_meet = false;  ///< the diagonal ends at the last query and key
  bool alibi = false;
  bool drops = false;
  std::uint64_t threshold = 0;  ///< random words from this value on keep a probability
  double kept = 1;              ///< the factor of kept probabilities
  std::uint64_t seed = 0, offset = 0;
  // Backward only.
  head_rows d_o{}, d_q{}, d_k{}, d_v_rows{};
  score_rows d_bias{};
  head_numbers d_sinks{};
  std::int64_t bias_batch = 0, bias_heads = 0;  ///< extents of d_bias; 0 for none
  void* delta = nullptr;                        ///< [b, h, s_q], in the type of the arithmetic

  [[nodiscard]] KERNEL_FUNCTION std::int64_t queries(std::int64_t sequence) const {
    return lengths_q != nullptr ? lengths_q[sequence] : s_q;
  }
  [[nodiscard]] KERNEL_FUNCTION std::int64_t keys(std::int64_t sequence) const {
    return lengths_kv != nullptr ? lengths_kv[sequence] : s_kv;
  }
  [[nodiscard]] KERNEL_FUNCTION bool is_wrong(std::int64_t sequence) const {
    return wrong != nullptr && wrong[sequence] != 0;
  }
  /// The index of a query in [b, h, s_q].
  [[nodiscard]] KERNEL_FUNCTION std::int64_t query_number(std::int64_t sequence, std::int64_t head,
                                                          std::int64_t query) const {
    return (sequence * heads + head) * s_q + query;
  }
};

}  // namespace troupe::cuda::tiles
