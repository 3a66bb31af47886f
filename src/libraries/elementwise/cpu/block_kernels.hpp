#pragma once

#include "libraries/elementwise/requests/typed_program.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

/// Computes one instruction for `n` elements. Booleans are bytes.
using block_kernel = void (*)(std::byte* y, const std::byte* a, const std::byte* b,
                              const std::byte* c, std::size_t n);
/// Copies `n` elements to or from memory, where they lie `stride` elements apart; `memory` is at
/// the part of a complex number that is meant.
using load_kernel = void (*)(std::byte* y, const std::byte* memory, std::int64_t stride,
                             std::size_t n);
using store_kernel = void (*)(std::byte* memory, std::int64_t stride, const std::byte* a,
                              std::size_t n);

/// The intermediate result of a row operation.
struct accumulator {
  double real = 0;
  float single = 0;
  std::int64_t integer = 0;
  std::int64_t place = -1;  ///< for `row_argmin` and `row_argmax`
};
/// Takes `n` elements in, of which the first is number `first` of the row.
using row_kernel = void (*)(accumulator& sum, const std::byte* a, std::int64_t first,
                            std::size_t n);

/// The loops for this machine's processor.
struct block_kernels {
  block_kernel (*compute)(const elementwise::typed_instruction& one);
  load_kernel (*load)(dtype type);
  store_kernel (*store)(dtype type);
  row_kernel (*accumulate)(const elementwise::typed_instruction& one);
  row_kernel sum_of_squares;  ///< for f32, in f64

  [[nodiscard]] static const block_kernels& mine() noexcept;
};

/// A function of f32 that takes far longer than its loads, for processors with AVX-512; null for
/// all else.
[[nodiscard]] block_kernel avx512_function(elementwise::opcode op) noexcept;

// For processors with AVX2 and FMA, and for all. The results are the same.
extern const block_kernels avx2_kernels;
extern const block_kernels plain_kernels;

}  // namespace troupe::cpu
