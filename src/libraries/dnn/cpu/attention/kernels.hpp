#pragma once

#include <troupe/tensor/dtype.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cpu::attention {

/// Columns of blocks are padded to multiples of this.
inline constexpr std::int64_t lanes = 16;
/// Queries of a tile, which blocks of scores have as columns; a multiple of `lanes`.
inline constexpr std::int64_t tile_rows = 64;

[[nodiscard]] constexpr std::int64_t padded(std::int64_t n) noexcept {
  return (n + lanes - 1) / lanes * lanes;
}

/// Left factor of a product: element (r, k) is at[r · row_step + k · depth_step].
template <class T>
struct left_factor {
  const T* at;
  std::int64_t row_step;
  std::int64_t depth_step;
};

/// The masks and biases of a tile's queries, for one block of keys.
template <class T>
struct tile_masks {
  const T* first;     ///< each query's first key, counted in the block
  const T* last;      ///< one past the last
  bool whole;         ///< every query attends to the whole block
  const T* slope;     ///< for ALiBi; null if none
  const T* distance;  ///< with `slope`: the block's first key, counted from each query's diagonal
};

/// The running softmax of the queries of a tile.
template <class T>
struct running_softmax {
  T* most;
  T* sum;
  T* rescale;  ///< factor of what was summed up before the last block
};

/// The loops of attention, for one kind of processor. Blocks of scores are transposed: a row for
/// each key, a column for each query of the tile, `tile_rows` apart. Every column is computed by
/// itself, in an order that depends on nothing but its keys.
template <class T>
struct kernels {
  /// c[r, x] = Σ_k a(r, k) · b[k, x], or that added to it. `columns` is a multiple of `lanes`.
  void (*multiply)(const left_factor<T>& a, const T* b, std::int64_t b_step, T* c,
                   std::int64_t c_step, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                   bool add);
  /// c[j, i] = Σ_k a[j, k] · b[i, k] for few i.
  void (*dots)(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* c,
               std::int64_t rows, std::int64_t columns, std::int64_t depth);
  /// scores = scale · scores + slope · (j − c).
  void (*scale)(T* scores, std::int64_t keys, std::int64_t columns, T factor,
                const tile_masks<T>& masks);
  /// scores = cap · tanh(scores / cap); `slopes` receives the derivatives, if it is given.
  void (*cap)(T* scores, std::int64_t keys, std::int64_t columns, T cap, T* slopes);
  /// Takes a block into the softmax: scores become exp(score − most), or 0 where masked.
  void (*soften)(T* scores, std::int64_t keys, std::int64_t columns, const tile_masks<T>& masks,
                 const running_softmax<T>& softmax);
  /// Scores become exp(score − statistic), or 0 where masked.
  void (*recall)(T* scores, std::int64_t keys, std::int64_t columns, const tile_masks<T>& masks,
                 const T* statistic);
  /// gradients = p · (kept · gradients − delta), where `kept` may be null for all ones.
  void (*differentiate)(T* gradients, const T* p, const T* kept, const T* delta, std::int64_t keys,
                        std::int64_t columns);
  /// Reads elements that are `stride` apart.
  void (*load)(T* to, dtype type, const std::byte* from, std::int64_t stride, std::int64_t count);

  [[nodiscard]] static const kernels& mine() noexcept;
};

// One set for each kind of processor.
template <class T>
struct kernel_sets {
  static const kernels<T> plain;   ///< any
  static const kernels<T> avx2;    ///< with AVX2 and FMA
  static const kernels<T> avx512;  ///< with AVX-512 F, BW, DQ and VL
};

}  // namespace troupe::cpu::attention
