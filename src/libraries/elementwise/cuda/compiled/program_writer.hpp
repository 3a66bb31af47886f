#pragma once

#include "libraries/elementwise/cuda/kernel_plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::cuda {

/// The names of a number type and of an element type in CUDA C++.
[[nodiscard]] std::string_view name_of(elementwise::number type) noexcept;
[[nodiscard]] std::string_view element_name(dtype type) noexcept;

/// Writes the code that computes an element. The caller writes the function around it: a kernel, or
/// a callback of another library. The code uses these names:
/// - `p`: the constants and, for `offsets`, loops and operands
/// - `oK`: the position of operand K: an offset in bytes, or the index itself
/// - `xK`, `yK`: the loaded element, and the element to store
/// - `vN`, `uN`: the value of instruction N for an element, and for a row
class program_writer {
 protected:
  using typed_instruction = elementwise::typed_instruction;
  using numbers = std::vector<std::uint16_t>;

  program_writer(const elementwise::bound_request& r, const elementwise::loops& over,
                 const kernel_plan& p)
      : r_(r), over_(over), p_(p), code_(r.program.code) {}

  void line(std::string_view text) {
    text_ += text;
    text_ += '\n';
  }
  void begin_text();
  [[nodiscard]] std::size_t operand_of(const typed_instruction& one) const {
    return over_.operand_of(one, r_.inputs.size(), r_.outputs.size());
  }
  [[nodiscard]] dtype type_of(std::size_t operand) const {
    return operand < r_.inputs.size() ? r_.inputs[operand].type()
                                      : r_.outputs[operand - r_.inputs.size()].type();
  }
  [[nodiscard]] bool in_memory(std::size_t operand) const {
    return operand < r_.inputs.size() + r_.outputs.size();
  }
  /// The number of elements of an operand that a step moves.
  [[nodiscard]] int width(std::size_t operand) const {
    return p_.steps[operand] != 0 ? p_.vector : 1;
  }
  /// The operands that these instructions move or count, without duplicates.
  [[nodiscard]] std::vector<std::size_t> operands_of(const numbers& list) const;
  [[nodiscard]] std::string value(std::uint16_t n) const;
  [[nodiscard]] std::string expression(const typed_instruction& one) const;
  /// The suffix of an operand's names if it is kept between passes.
  [[nodiscard]] std::string_view suffix(std::size_t operand) const {
    return p_.held > 0 && p_.keeps(operand) ? "_k" : "";
  }
  void mark_elements(const numbers& list) {
    is_element_.assign(code_.size(), false);
    for (const std::uint16_t n : list)
      is_element_[n] = true;
  }
  /// Declares the position of each operand at step number `count` of some loops, relative to
  /// `from`.
  void offsets(const std::vector<std::size_t>& operands, std::string_view count, int first,
               int loops, std::string_view from, std::string_view to);
  void loads(const std::vector<std::size_t>& operands);
  /// Declares variables for the operands that a step stores, and returns these operands.
  [[nodiscard]] std::vector<std::size_t> declare_stores(const numbers& list);
  /// Computes element `j` of a step and assigns the results to their variables.
  void compute(const numbers& list);

  const elementwise::bound_request& r_;
  const elementwise::loops& over_;
  const kernel_plan& p_;
  const std::vector<typed_instruction>& code_;
  std::vector<bool> is_element_;
  std::string text_;
};

}  // namespace troupe::cuda
