#pragma once

#include "libraries/elementwise/cuda/key_words.hpp"
#include "libraries/elementwise/cuda/parameters.hpp"
#include "libraries/elementwise/requests/space.hpp"

#include <cstdint>
#include <vector>

namespace troupe::cuda {

/// How a request is laid out over threads: what a kernel is compiled for, and what it is launched
/// with.
struct kernel_plan {
  // Compiled in.
  bool is_map = false;
  bool wide = false;   ///< 31 bits do not count the steps
  bool tiled = false;  ///< of a map: blocks do squares of two loops, the innermost and `tile_loop`
  int vector = 1;      ///< elements of a step, which lie side by side
  int outer_loops = 0;
  int row_loops = 0;
  int tile_loop = 0;
  int team = 0;        ///< of rows: threads that share one, or one of its splits
  int held = 0;        ///< steps of a thread that stay in registers from pass to pass; 0: none
  bool split = false;  ///< a row is shared by several blocks
  std::vector<std::uint8_t> uses;   ///< by operand: the passes that use it
  std::vector<std::uint8_t> steps;  ///< by operand: 1 if it moves along a vector, 0 if it stays

  // Launched with. The workspace is set by who has it.
  elementwise::gpu::parameters parameters{};
  unsigned threads = 256;
  std::int64_t blocks = 0;
  std::int64_t joining_blocks = 0;  ///< of the kernels that join splits
  std::int64_t partial_bytes = 0;
  std::int64_t cell_bytes = 0;

  /// \errors `unsupported` for more loops, operands or constants than a kernel takes
  [[nodiscard]] static result<kernel_plan> of(const elementwise::bound_request& r,
                                              const elementwise::loops& over,
                                              const elementwise::function& f, int multiprocessors);
  /// True for an operand that stays in registers: more than one pass reads it.
  [[nodiscard]] bool keeps(std::size_t operand) const noexcept { return uses[operand] > 1; }
  /// All that compiled code depends on: this, the program and the element types.
  [[nodiscard]] key_words kernel_key(const elementwise::bound_request& r) const;
};

/// A constant as a kernel's parameters have it.
[[nodiscard]] std::int64_t bits_of(elementwise::number type, const scalar& value) noexcept;

/// Bytes of a partial result of a row operation.
inline constexpr std::int64_t partial_size = 16;

}  // namespace troupe::cuda
