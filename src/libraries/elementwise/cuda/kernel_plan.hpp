#pragma once

#include "libraries/elementwise/cuda/key_words.hpp"
#include "libraries/elementwise/cuda/parameters.hpp"
#include "libraries/elementwise/requests/space.hpp"

#include <cstdint>
#include <vector>

namespace troupe::cuda {

/// The distribution of a request over threads: the values that are compiled into a kernel, and
/// those of a launch.
struct kernel_plan {
  // Compiled in.
  bool is_map = false;
  bool wide = false;   ///< the number of steps needs more than 31 bits
  bool tiled = false;  ///< maps only: blocks do squares of two loops, the innermost and `tile_loop`
  int vector = 1;      ///< contiguous elements per step
  int outer_loops = 0;
  int row_loops = 0;
  int tile_loop = 0;
  int team = 0;        ///< rows only: threads that share a row, or one of its splits
  int held = 0;        ///< steps per thread that stay in registers between passes; 0: none
  bool split = false;  ///< several blocks share a row
  std::vector<std::uint8_t> uses;   ///< per operand: the passes that use it
  std::vector<std::uint8_t> steps;  ///< per operand: 1 if it moves along a vector, 0 if it stays

  // Launch values. The caller sets the workspace.
  elementwise::gpu::parameters parameters{};
  unsigned threads = 256;
  std::int64_t blocks = 0;
  std::int64_t joining_blocks = 0;  ///< blocks of the kernels that join splits
  std::int64_t partial_bytes = 0;
  std::int64_t cell_bytes = 0;

  /// \errors `unsupported` for more loops, operands or constants than a kernel takes
  [[nodiscard]] static result<kernel_plan> of(const elementwise::bound_request& r,
                                              const elementwise::loops& over,
                                              const elementwise::function& f, int multiprocessors);
  /// True if the operand stays in registers, because more than one pass reads it.
  [[nodiscard]] bool keeps(std::size_t operand) const noexcept { return uses[operand] > 1; }
  /// Everything that selects compiled code: this plan, the program and the element types.
  [[nodiscard]] key_words kernel_key(const elementwise::bound_request& r) const;
};

/// The bits of a constant, as in a kernel's parameters.
[[nodiscard]] std::int64_t bits_of(elementwise::number type, const scalar& value) noexcept;

/// The size of a partial result of a row operation, in bytes.
inline constexpr std::int64_t partial_size = 16;

}  // namespace troupe::cuda
