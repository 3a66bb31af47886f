#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#include "libraries/memory/cuda/small_floats.cuh"
#define TILE_FUNCTION __device__ __forceinline__
#else
#define TILE_FUNCTION inline
#endif

/// An attention request as Troupe's own kernels see it. A host compiler accepts these files, too,
/// so that tests run the kernels without a GPU.
namespace troupe::cuda::tiles {

inline constexpr int threads = 256;  ///< per block

template <class Real>
[[nodiscard]] TILE_FUNCTION Real element(const std::byte* at, [[maybe_unused]] dtype type,
                                         std::int64_t place) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    return reinterpret_cast<const double*>(at)[place];
  } else {
#ifndef __CUDACC__
    const auto widened = [](auto x) { return static_cast<float>(x); };
#endif
    if (type == dtype::f32) return reinterpret_cast<const float*>(at)[place];
    if (type == dtype::f16) return widened(reinterpret_cast<const f16*>(at)[place]);
    return widened(reinterpret_cast<const bf16*>(at)[place]);
  }
}
template <class Real>
TILE_FUNCTION void store_element(std::byte* at, [[maybe_unused]] dtype type, std::int64_t place,
                                 Real value) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    reinterpret_cast<double*>(at)[place] = value;
  } else if (type == dtype::f32) {
    reinterpret_cast<float*>(at)[place] = value;
  } else {
#ifdef __CUDACC__
    if (type == dtype::f16) reinterpret_cast<f16*>(at)[place] = rounded<f16>(value);
    if (type == dtype::bf16) reinterpret_cast<bf16*>(at)[place] = rounded<bf16>(value);
#else
    if (type == dtype::f16) reinterpret_cast<f16*>(at)[place] = f16(value);
    if (type == dtype::bf16) reinterpret_cast<bf16*>(at)[place] = bf16(value);
#endif
  }
}

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

  [[nodiscard]] TILE_FUNCTION std::int64_t row(std::int64_t sequence, std::int64_t head,
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

  [[nodiscard]] TILE_FUNCTION std::int64_t place(std::int64_t sequence, std::int64_t head,
                                                 std::int64_t query, std::int64_t key) const {
    return sequence * steps[0] + head * steps[1] + query * steps[2] + key * steps[3];
  }
};

struct problem {
  std::int64_t batch = 0, heads = 0, key_heads = 0, value_heads = 0;
  std::int64_t s_q = 0, s_kv = 0, d = 0, d_v = 0;
  head_rows q, k, v, o;
  score_rows statistics, bias;
  const std::int32_t* lengths_q = nullptr;  ///< checked; null: sequences have full length
  const std::int32_t* lengths_kv = nullptr;
  /// With lengths: if not 0, the content of the sequence is out of range, and its results are NaN.
  const std::int32_t* wrong = nullptr;
  double scale = 1;
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
  std::int64_t bias_batch = 0, bias_heads = 0;  ///< extents of d_bias; 0 for none
  void* delta = nullptr;                        ///< [b, h, s_q], in the type of the arithmetic

  [[nodiscard]] TILE_FUNCTION std::int64_t queries(std::int64_t sequence) const {
    return lengths_q != nullptr ? lengths_q[sequence] : s_q;
  }
  [[nodiscard]] TILE_FUNCTION std::int64_t keys(std::int64_t sequence) const {
    return lengths_kv != nullptr ? lengths_kv[sequence] : s_kv;
  }
  [[nodiscard]] TILE_FUNCTION bool is_wrong(std::int64_t sequence) const {
    return wrong != nullptr && wrong[sequence] != 0;
  }
  /// The index of a query in [b, h, s_q].
  [[nodiscard]] TILE_FUNCTION std::int64_t query_number(std::int64_t sequence, std::int64_t head,
                                                        std::int64_t query) const {
    return (sequence * heads + head) * s_q + query;
  }
};

}  // namespace troupe::cuda::tiles
