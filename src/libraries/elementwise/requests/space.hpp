#pragma once

#include "libraries/elementwise/requests/typed_program.hpp"

#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/rows.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::elementwise {

/// The iteration space of a request: the extents that its tensors are broadcast to, and the axes
/// that make a row.
struct space {
  bool is_map = false;  ///< no rows, only elements
  int rank = 0;
  std::array<std::int64_t, max_rank> extents{};
  std::uint32_t row_axes = 0;  ///< a bit for each
  std::uint32_t repeated = 0;  ///< a bit for each input that is the same for a whole row
  std::uint32_t reduced = 0;   ///< a bit for each output that has one element for a row

  /// \errors `invalid_argument` for the numbers of tensors and for axes; `shape_mismatch`
  [[nodiscard]] static result<space> of(const map& r);
  [[nodiscard]] static result<space> of(const rows& r);
  /// For inputs alone, broadcast together. \errors likewise
  [[nodiscard]] static result<space> of(std::span<const any_tensor> inputs,
                                        std::span<const std::int64_t> axes);

  [[nodiscard]] bool is_row_axis(int d) const noexcept { return (row_axes >> d & 1) != 0; }
  [[nodiscard]] bool empty() const noexcept;
  /// True if a row has no elements.
  [[nodiscard]] bool has_empty_rows() const noexcept;
};

/// One dimension of the loops over a space.
struct loop {
  std::int64_t extent = 1;
  std::vector<std::int64_t> strides;  ///< by operand, in elements
};

/// A number for each element that is not in memory: a sum of indices times strides.
struct index_operand {
  opcode op{};         ///< `index` or `position`
  std::uint16_t axis;  ///< of `index`, from the last
  friend bool operator==(const index_operand&, const index_operand&) = default;
};

/// The loops over a space, as few and as long as possible: dimensions of extent 1 are dropped, and
/// neighbours that every operand steps through without a gap are merged. Operands are the inputs,
/// the outputs, then the index operands.
struct loops {
  std::vector<loop> outer;  ///< over rows, outermost first; of `map` none: an element is a row
  std::vector<loop> row;    ///< over a row's elements; of `map` over all elements
  std::vector<index_operand> indices;
  std::int64_t outer_count = 1;
  std::int64_t row_count = 1;

  [[nodiscard]] static loops of(const space& s, std::span<const any_tensor> inputs,
                                std::span<const any_tensor> outputs, const function& f);
  /// The operand of an instruction `input`, `output`, `index` or `position`.
  [[nodiscard]] std::size_t operand_of(const typed_instruction& one, std::size_t inputs,
                                       std::size_t outputs) const noexcept;
};

/// A request as both backends run it.
struct bound_request {
  std::span<const any_tensor> inputs;
  std::span<const any_tensor> outputs;
  space over;
  typed_program program;
};
template <class R>
[[nodiscard]] result<bound_request> bind(const R& r) {
  auto over = space::of(r);
  if (!over) return std::move(over).error();
  std::array<dtype, function::most_inputs> inputs{};
  std::array<dtype, function::most_outputs> outputs{};
  for (std::size_t i = 0; i < r.inputs.size(); ++i)
    inputs[i] = r.inputs[i].type();
  for (std::size_t i = 0; i < r.outputs.size(); ++i)
    outputs[i] = r.outputs[i].type();
  auto program = typed_program::bind(r.what, std::span(inputs).first(r.inputs.size()),
                                     std::span(outputs).first(r.outputs.size()), over->repeated,
                                     over->reduced, over->has_empty_rows());
  if (!program) return std::move(program).error();
  return bound_request{r.inputs, r.outputs, *over, *std::move(program)};
}

}  // namespace troupe::elementwise
