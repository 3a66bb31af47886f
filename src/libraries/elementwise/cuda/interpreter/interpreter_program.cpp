#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"

#include <algorithm>
#include <vector>

namespace troupe::cuda {

using elementwise::opcode;
using elementwise::typed_instruction;

bool interpreter_program::assign(const elementwise::bound_request& r,
                                 const elementwise::loops& over, const kernel_plan& p) {
  const auto& code = r.program.code;
  if (r.program.passes.size() > most_passes) return false;
  vector = p.vector;
  team = p.team;
  outer_loops = p.outer_loops;
  row_loops = p.row_loops;
  passes = static_cast<std::int32_t>(r.program.passes.size());
  std::vector<int> slot_of(code.size(), -1);
  std::vector<std::uint16_t> constant_of(code.size(), 0);
  std::uint16_t constants = 0;
  for (std::size_t n = 0; n < code.size(); ++n) {
    if (code[n].op == opcode::constant)
      constant_of[n] = static_cast<std::uint16_t>(first_constant + constants++);
  }
  std::vector<int> unused;
  const auto new_slot = [&] {
    if (unused.empty()) return slots++;
    const int slot = unused.back();
    unused.pop_back();
    return slot;
  };
  std::uint16_t next = 0;
  const auto place_of = [&](std::uint16_t n) {
    return constant_of[n] != 0 ? constant_of[n] : static_cast<std::uint16_t>(slot_of[n]);
  };
  const auto append = [&](std::uint16_t n) {
    const typed_instruction& one = code[n];
    interpreter_step& s = steps[next++];
    s = {.op = static_cast<std::uint8_t>(one.op),
         .type = static_cast<std::uint8_t>(one.type),
         .result = static_cast<std::uint8_t>(one.result),
         .fast = static_cast<std::uint8_t>(one.fast && one.type == elementwise::number::f32)};
    const bool in = one.op == opcode::input;
    if (in || one.op == opcode::output) {
      s.operand =
          static_cast<std::uint8_t>(over.operand_of(one, r.inputs.size(), r.outputs.size()));
      s.element = static_cast<std::uint8_t>(in ? r.inputs[one.a].type() : r.outputs[one.b].type());
      s.part = static_cast<std::uint8_t>(in ? one.b : one.c);
    } else if (one.op == opcode::index || one.op == opcode::position) {
      s.operand =
          static_cast<std::uint8_t>(over.operand_of(one, r.inputs.size(), r.outputs.size()));
    } else if (one.op == opcode::cast || one.op == elementwise::to_integer) {
      s.element = static_cast<std::uint8_t>(one.b);
    }
    const std::uint16_t operands[] = {one.a, one.b, one.c};
    std::uint16_t* const places[] = {&s.a, &s.b, &s.c};
    for (int k = 0; k < elementwise::value_operands(one.op); ++k)
      *places[k] = place_of(operands[k]);
    return &s;
  };
  for (std::size_t i = 0; i < r.program.passes.size(); ++i) {
    const elementwise::pass& of = r.program.passes[i];
    if (next + of.elements.size() + of.rows.size() + of.uniform.size() > most_steps ||
        of.rows.size() > most_row_operations) {
      return false;
    }
    // A slot is free after the last use of its value in the pass.
    std::vector<std::size_t> last_use(code.size(), 0);
    for (std::size_t e = 0; e < of.elements.size(); ++e) {
      const typed_instruction& one = code[of.elements[e]];
      const std::uint16_t operands[] = {one.a, one.b, one.c};
      for (int k = 0; k < elementwise::value_operands(one.op); ++k)
        last_use[operands[k]] = e;
    }
    for (const std::uint16_t n : of.rows)
      last_use[code[n].a] = of.elements.size();
    std::vector<std::uint16_t> here;
    pass_at[i].elements.begin = next;
    for (std::size_t e = 0; e < of.elements.size(); ++e) {
      const std::uint16_t n = of.elements[e];
      const typed_instruction& one = code[n];
      if (one.op == opcode::constant) continue;
      interpreter_step* const s = append(n);
      if (one.op != opcode::output) {
        slot_of[n] = new_slot();
        here.push_back(n);
        s->y = static_cast<std::uint16_t>(slot_of[n]);
      }
      const std::uint16_t operands[] = {one.a, one.b, one.c};
      for (int k = 0; k < elementwise::value_operands(one.op); ++k) {
        const std::uint16_t u = operands[k];
        const auto own = std::ranges::find(here, u);
        if (last_use[u] != e || own == here.end()) continue;
        unused.push_back(slot_of[u]);
        here.erase(own);
      }
    }
    pass_at[i].elements.end = pass_at[i].rows.begin = next;
    std::vector<int> later;
    for (const std::uint16_t n : of.rows) {
      interpreter_step* const s = append(n);
      later.push_back(slots++);  // kept: the row's result outlives its elements
      s->y = static_cast<std::uint16_t>(later.back());
    }
    for (const std::uint16_t n : here)
      unused.push_back(slot_of[n]);
    for (std::size_t k = 0; k < of.rows.size(); ++k)
      slot_of[of.rows[k]] = later[k];
    pass_at[i].rows.end = pass_at[i].uniform.begin = next;
    for (const std::uint16_t n : of.uniform) {
      if (code[n].op == opcode::constant) continue;
      interpreter_step* const s = append(n);
      if (code[n].op == opcode::output) continue;
      slot_of[n] = slots++;
      s->y = static_cast<std::uint16_t>(slot_of[n]);
    }
    pass_at[i].uniform.end = next;
  }
  std::size_t parts = 0;
  for (const elementwise::pass& of : r.program.passes)
    parts = std::max(parts, of.rows.size());
  constexpr std::size_t most_shared_words = 226 * 1024 / 8;
  const std::size_t words = static_cast<std::size_t>(slots) + 2 * parts;
  return slots <= most_slots && words * (p.is_map ? 128 : p.threads) <= most_shared_words;
}

}  // namespace troupe::cuda
