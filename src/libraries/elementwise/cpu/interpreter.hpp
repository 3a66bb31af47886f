#pragma once

#include "libraries/elementwise/cpu/block_kernels.hpp"
#include "libraries/elementwise/requests/space.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe::cpu {

/// Runs a bound request block by block: each instruction for all elements of a block, before the
/// next one, so that the loops are the compiler's and values stay in the cache. One thread uses it.
class interpreter {
 public:
  /// Elements of a block.
  static constexpr std::int64_t block = 1024;

  /// Both must outlive it.
  interpreter(const elementwise::bound_request& r, const elementwise::loops& over,
              const elementwise::function& f);

  /// Elements [first, last) of the row with this number. Precondition: the whole row, if the
  /// program has row operations.
  void run(std::int64_t row, std::int64_t first, std::int64_t last);

 private:
  using instruction = elementwise::typed_instruction;

  /// A number of any type.
  struct alignas(8) cell {
    std::array<std::byte, 8> bytes{};
  };
  /// An instruction of a pass, with where its operands are.
  struct step {
    const instruction* what = nullptr;
    block_kernel compute = nullptr;
    load_kernel load = nullptr;
    store_kernel store = nullptr;
    std::size_t operand = 0;  ///< for moves to or from memory, and for indices
    std::byte* y = nullptr;   ///< the value's place, unless it is in memory
    // Where values are at present; null for one that is the same for a row: it stays in its cell.
    const std::byte** place = nullptr;
    const std::byte* const* a = nullptr;
    const std::byte* const* b = nullptr;
    const std::byte* const* c = nullptr;
    std::optional<std::size_t> output{};  ///< the operand that may take the value at once
  };
  /// A uniform value that elements use, and the destination of its copies.
  struct repeated_value {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t bytes = 0;
  };
  struct row_step {
    row_kernel accumulate = nullptr;
    const instruction* what = nullptr;
    const std::byte* const* a = nullptr;
    std::byte* y = nullptr;
  };
  struct pass_plan {
    std::vector<const std::byte*> places;  ///< by instruction
    std::vector<repeated_value> repeated;
    std::vector<step> elements;
    std::vector<row_step> rows;
    std::vector<step> uniform;
  };

  void plan(const elementwise::pass& of, pass_plan& made, const elementwise::function& f);
  /// The value whose sum of squares this row operation is, f32 summed in f64: a single loop, if the
  /// squares have no other use.
  [[nodiscard]] std::optional<std::uint16_t> squared_by(const elementwise::pass& of,
                                                        std::uint16_t row) const;
  [[nodiscard]] step step_of(std::uint16_t n) const;
  [[nodiscard]] std::vector<std::uint16_t> operands_of(std::uint16_t n) const;
  [[nodiscard]] const std::byte* constant(const instruction& one, const elementwise::function& f);
  [[nodiscard]] std::byte* new_buffer();

  void run_block(const pass_plan& p, std::int64_t first, std::size_t n);
  void execute(const step& s, std::int64_t first, std::size_t n);
  void move(const step& s, std::int64_t first, std::size_t n);
  /// The place of `n` elements of an operand if a program can use them there: contiguous, in its
  /// number type, and in no other operand's place. Null otherwise.
  [[nodiscard]] std::byte* in_memory(std::size_t operand, std::int64_t first, std::size_t n) const;
  /// Calls `run(offset, stride, count)` for elements that lie at one stride.
  template <class Run>
  void for_runs(std::size_t operand, std::int64_t first, std::size_t n, Run run) const;
  [[nodiscard]] const any_tensor& tensor(std::size_t operand) const noexcept;
  [[nodiscard]] std::byte* address(std::size_t operand, std::uint16_t part) const noexcept;

  const elementwise::bound_request& r_;
  const elementwise::loops& over_;
  const block_kernels& kernels_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::vector<std::byte*> free_;
  std::vector<bool> plain_;  // by operand: whether `in_memory` may find it
  std::vector<cell> cells_;  // uniform values, by instruction
  std::vector<const std::byte*> cell_places_;
  std::map<std::pair<std::uint16_t, elementwise::number>, std::byte*> constants_;
  std::vector<pass_plan> passes_;
  std::vector<std::int64_t> offsets_;  // the row's, by operand, in elements
};

}  // namespace troupe::cpu
