#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/elementwise/cuda/kernel_plan.hpp"

#include <cstdint>

namespace troupe::cuda {

/// One step of the interpreter. Operands are slots, or constants from `first_constant` on.
struct interpreter_step {
  std::uint8_t op = 0;      ///< an `opcode`
  std::uint8_t type = 0;    ///< a `number`: the type of the operands
  std::uint8_t result = 0;  ///< a `number`
  std::uint8_t fast = 0;
  std::uint8_t element = 0;  ///< a `dtype`: the element that is moved, or the target of a cast
  std::uint8_t part = 0;
  std::uint8_t operand = 0;  ///< the operand that is moved
  std::uint8_t unused = 0;
  std::uint16_t y = 0;
  std::uint16_t a = 0;
  std::uint16_t b = 0;
  std::uint16_t c = 0;
};
inline constexpr std::uint16_t first_constant = 0x8000;

/// A program as it is passed to the interpreter kernel.
struct interpreter_program {
  static constexpr int most_steps = 384;
  static constexpr int most_passes = 8;
  static constexpr int most_row_operations = 16;
  static constexpr int most_slots = 96;  ///< `interpreter_slots` of kernel_plan.cpp

  struct range {
    std::uint16_t begin = 0;
    std::uint16_t end = 0;
  };
  struct pass {
    range elements;
    range rows;
    range uniform;
  };
  std::int32_t vector = 1;
  std::int32_t team = 0;
  std::int32_t outer_loops = 0;
  std::int32_t row_loops = 0;
  std::int32_t slots = 0;
  std::int32_t passes = 0;
  pass pass_at[most_passes];
  interpreter_step steps[most_steps];

  /// Returns false if the program is too large for the interpreter, so that only compiled code runs
  /// it. A block's shared memory must hold the slots and the row operations of its threads.
  [[nodiscard]] bool assign(const elementwise::bound_request& r, const elementwise::loops& over,
                            const kernel_plan& p);
};

/// Enqueues the interpreter. It is slower than compiled code, but available at once. The bits are
/// equal.
[[nodiscard]] result<void> enqueue_interpreter(const interpreter_program& program,
                                               const kernel_plan& p,
                                               const elementwise::gpu::parameters& with,
                                               cudaStream_t stream);
[[nodiscard]] result<void> load_interpreter();

}  // namespace troupe::cuda
