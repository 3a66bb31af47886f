#pragma once

// The parameters of kernels. The runtime compiler reads this text.

namespace troupe::elementwise::gpu {

using u64 = unsigned long;

inline constexpr int most_loops = 8;
inline constexpr int most_operands = 33;
inline constexpr int most_cells = 128;

/// Division of numbers below 2^31 by a loop's extent. Source: T. Granlund, P. L. Montgomery,
/// "Division by Invariant Integers using Multiplication", 1994.
struct loop_parameters {
  u64 extent;
  unsigned multiplier;
  unsigned shift;
};

/// An operand: the address of its first element, and the stride of each loop in bytes. For an index
/// operand, the address is a number and the strides are in steps.
struct operand_parameters {
  char* address;
  long strides[most_loops];
};

/// The parameters of a kernel. Loops are outermost first: those over rows, then those over a row.
struct parameters {
  u64 rows;
  u64 row_steps;    ///< vectors of elements in a row
  u64 row_length;   ///< elements in a row
  u64 splits;       ///< blocks that share a row
  u64 split_steps;  ///< vectors in each split
  char* partials;   ///< shared rows: accumulators by row, split and operation
  long* cells;      ///< shared rows: uniform values by row and instruction
  loop_parameters loops[most_loops];
  operand_parameters operands[most_operands];
  long constants[most_cells];  ///< the bits of each, in its type
};

}  // namespace troupe::elementwise::gpu
