#include "libraries/elementwise/cuda/compiled/kernel_source.hpp"

#include "libraries/elementwise/cuda/compiled/program_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace troupe::cuda {
namespace {

using elementwise::opcode;
using elementwise::typed_instruction;

/// Writes the kernels of one request.
class kernel_writer : program_writer {
 public:
  kernel_writer(const elementwise::bound_request& r, const elementwise::loops& over,
                const kernel_plan& p)
      : program_writer(r, over, p) {}

  [[nodiscard]] std::string run() {
    begin_text();
    line(fmt::format("using step_number = {};", p_.wide ? "u64" : "unsigned"));
    if (p_.is_map) {
      map_kernel();
    } else if (!p_.split) {
      rows_kernel();
    } else {
      for (std::size_t pass = 0; pass < r_.program.passes.size(); ++pass)
        split_kernels(pass);
    }
    return std::move(text_);
  }

 private:
  [[nodiscard]] std::vector<std::size_t> all_operands() const {
    std::vector<std::size_t> all(r_.inputs.size() + r_.outputs.size() + over_.indices.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  void begin_kernel(std::string_view name, unsigned threads) {
    line(
        fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(const __grid_constant__ "
                    "parameters p) {{",
                    threads, name));
  }
  void elements(const numbers& list, const numbers& rows);
  void accumulators(const numbers& rows);
  void join(const numbers& rows, std::string_view threads);
  void uniform(const numbers& list);
  void pass_over(const elementwise::pass& pass, std::string_view begin, std::string_view end);
  void hold();
  void map_kernel();
  void rows_kernel();
  void split_kernels(std::size_t pass);
  [[nodiscard]] numbers known_before(std::size_t pass) const;
};

/// For each element of a step: computes, accumulates row operations, and stores.
void kernel_writer::elements(const numbers& list, const numbers& rows) {
  const std::vector<std::size_t> stores = declare_stores(list);
  line(fmt::format("\n#pragma unroll\nfor (int j = 0; j < {}; ++j) {{", p_.vector));
  compute(list);
  for (const std::uint16_t n : rows) {
    const typed_instruction& one = code_[n];
    const std::string_view name = elementwise::traits_of(one.op).name;
    if (one.op == opcode::row_argmin || one.op == opcode::row_argmax) {
      line(fmt::format("a{0} = {1}::join(a{0}, placed<{2}>{{{3}, (i64)e * {4} + j}});", n, name,
                       name_of(one.type), value(one.a), p_.vector));
    } else {
      line(fmt::format("a{0} = {1}::join(a{0}, {2});", n, name, value(one.a)));
    }
  }
  line("}");
  for (const std::size_t k : stores)
    line(fmt::format("store_vector((char*)o{0}, y{0});", k));
}

void kernel_writer::accumulators(const numbers& rows) {
  for (const std::uint16_t n : rows) {
    line(fmt::format("auto a{} = {}::start<{}>();", n, elementwise::traits_of(code_[n].op).name,
                     name_of(code_[n].type)));
  }
}

void kernel_writer::join(const numbers& rows, std::string_view threads) {
  for (const std::uint16_t n : rows) {
    line(fmt::format("a{0} = joined<{1}>(a{0}, {2}, room);", n,
                     elementwise::traits_of(code_[n].op).name, threads));
  }
}

/// Computes the values that are uniform over a row. Every thread computes them; the first one
/// stores.
void kernel_writer::uniform(const numbers& list) {
  is_element_.assign(code_.size(), false);
  const auto operands = operands_of(list);
  for (const std::uint16_t n : list) {
    const typed_instruction& one = code_[n];
    switch (one.op) {
      case opcode::constant:
        break;
      case opcode::input: {
        const std::string part = is_complex(type_of(one.a)) ? fmt::format(".part[{}]", one.b) : "";
        line(fmt::format("const {} u{} = loaded(load_vector<{}, 1>((const char*)r{}).at[0]{});",
                         name_of(one.result), n, element_name(type_of(one.a)), one.a, part));
        break;
      }
      case opcode::output: {
        const std::size_t k = operand_of(one);
        const bool pair = is_complex(type_of(k));
        const std::string_view stored =
            pair ? (type_of(k) == dtype::c64 ? "float" : "double") : element_name(type_of(k));
        line(fmt::format("if (lane == 0) *({}*)(r{} + {}) = stored<{}>({});", stored, k,
                         one.c != 0 ? size_of(type_of(k)) / 2 : 0, stored, value(one.a)));
        break;
      }
      default:
        line(fmt::format("const {} u{} = {};", name_of(one.result), n, expression(one)));
        break;
    }
  }
}

/// A pass over a thread's steps, whose elements come from memory and from registers.
void kernel_writer::pass_over(const elementwise::pass& pass, std::string_view begin,
                              std::string_view end) {
  mark_elements(pass.elements);
  accumulators(pass.rows);
  std::vector<std::size_t> moved;
  for (const std::size_t k : operands_of(pass.elements)) {
    if (suffix(k).empty()) moved.push_back(k);
  }
  if (p_.held > 0) {
    line(fmt::format(
        "\n#pragma unroll\nfor (int k = 0; k < {}; ++k) {{ const step_number e = lane + "
        "k * {}; if (e < {}) {{",
        p_.held, p_.team, end));
  } else {
    line(fmt::format("for (step_number e = {}; e < {}; e += {}) {{ {{", begin, end, p_.team));
  }
  offsets(moved, "e", p_.outer_loops, p_.row_loops, "r", "o");
  loads(moved);
  elements(pass.elements, pass.rows);
  line("} }");
}

/// Loads the elements that stay in registers between passes.
void kernel_writer::hold() {
  std::vector<std::size_t> held;
  for (std::size_t k = 0; k < p_.uses.size(); ++k) {
    if (!suffix(k).empty()) held.push_back(k);
  }
  for (const std::size_t k : held) {
    if (in_memory(k)) {
      line(fmt::format("vector<{}, {}> x{}[{}];", element_name(type_of(k)), width(k), k, p_.held));
      line(fmt::format("#define x{0}_k x{0}[k]", k));
    } else {
      line(fmt::format("long i{}[{}];", k, p_.held));
      line(fmt::format("#define o{0}_k i{0}[k]", k));
    }
  }
  line(fmt::format(
      "\n#pragma unroll\nfor (int k = 0; k < {}; ++k) {{ const step_number e = lane + k * "
      "{}; if (e < p.row_steps) {{",
      p_.held, p_.team));
  offsets(held, "e", p_.outer_loops, p_.row_loops, "r", "h");
  for (const std::size_t k : held) {
    if (in_memory(k)) {
      line(fmt::format("x{0}[k] = load_vector<{1}, {2}>((const char*)h{0});", k,
                       element_name(type_of(k)), width(k)));
    } else {
      line(fmt::format("i{0}[k] = h{0};", k));
    }
  }
  line("} }");
}

void kernel_writer::map_kernel() {
  const elementwise::pass& pass = r_.program.passes[0];
  mark_elements(pass.elements);
  const auto operands = operands_of(pass.elements);
  begin_kernel("elementwise", p_.threads);
  if (p_.tiled) {
    const int inner = p_.row_loops - 1;
    line("unsigned rest = blockIdx.x;");
    line(fmt::format("const unsigned tiles = ((unsigned)p.loops[{}].extent + 31) / 32;", inner));
    line("const unsigned column = rest % tiles * 32 + threadIdx.x % 32; rest /= tiles;");
    line(fmt::format("const unsigned row_tiles = ((unsigned)p.loops[{}].extent + 31) / 32;",
                     p_.tile_loop));
    line("const unsigned row = rest % row_tiles * 32 + threadIdx.x / 32; rest /= row_tiles;");
    line(fmt::format("if (column >= (unsigned)p.loops[{}].extent) return;", inner));
    for (const std::size_t k : operands)
      line(
          fmt::format("long r{0} = (long)p.operands[{0}].address + (long)column * "
                      "p.operands[{0}].strides[{1}];",
                      k, inner));
    for (int d = inner - 1; d >= 0; --d) {
      if (d == p_.tile_loop) continue;
      line(
          fmt::format("{{ const long at = rest % (unsigned)p.loops[{0}].extent; rest /= "
                      "(unsigned)p.loops[{0}].extent;",
                      d));
      for (const std::size_t k : operands)
        line(fmt::format("r{0} += at * p.operands[{0}].strides[{1}];", k, d));
      line("}");
    }
    line(fmt::format(
        "\n#pragma unroll\nfor (int t = 0; t < 4; ++t) {{ const unsigned at = row + 8 * t; if (at "
        "< (unsigned)p.loops[{}].extent) {{",
        p_.tile_loop));
    for (const std::size_t k : operands)
      line(fmt::format("const long o{0} = r{0} + (long)at * p.operands[{0}].strides[{1}];", k,
                       p_.tile_loop));
  } else {
    line(fmt::format("const step_number e = (step_number)blockIdx.x * {} + threadIdx.x;",
                     p_.threads));
    line("if (e >= p.row_steps) return;");
    offsets(operands, "e", 0, p_.row_loops, "", "o");
  }
  loads(operands);
  elements(pass.elements, {});
  if (p_.tiled) line("} }");
  line("}");
}

void kernel_writer::rows_kernel() {
  begin_kernel("elementwise", p_.threads);
  line("__shared__ alignas(16) char room[512];");
  line(fmt::format("const step_number row = (step_number)blockIdx.x * {} + threadIdx.x / {};",
                   p_.threads / static_cast<unsigned>(p_.team), p_.team));
  line(fmt::format("const unsigned lane = threadIdx.x % {};", p_.team));
  line("if (row >= p.rows) return;");
  const std::vector<std::size_t> all = all_operands();
  offsets(all, "row", 0, p_.outer_loops, "", "r");
  if (p_.held > 0) hold();
  for (const elementwise::pass& pass : r_.program.passes) {
    if (!pass.elements.empty() || !pass.rows.empty()) pass_over(pass, "lane", "p.row_steps");
    join(pass.rows, fmt::format("{}", p_.team));
    for (const std::uint16_t n : pass.rows) {
      const bool place = code_[n].op == opcode::row_argmin || code_[n].op == opcode::row_argmax;
      line(fmt::format("const {} u{} = a{}{};", name_of(code_[n].result), n, n,
                       place ? ".place" : ""));
    }
    uniform(pass.uniform);
  }
  line("}");
}

/// The uniform values of earlier passes, row operations included.
kernel_writer::numbers kernel_writer::known_before(std::size_t pass) const {
  numbers known;
  for (std::size_t i = 0; i < pass; ++i) {
    const elementwise::pass& one = r_.program.passes[i];
    known.insert(known.end(), one.rows.begin(), one.rows.end());
    for (const std::uint16_t n : one.uniform) {
      if (code_[n].op != opcode::constant && code_[n].op != opcode::output) known.push_back(n);
    }
  }
  return known;
}

void kernel_writer::split_kernels(std::size_t number_of_pass) {
  const elementwise::pass& pass = r_.program.passes[number_of_pass];
  const std::vector<std::size_t> all = all_operands();
  const auto cells = [&] {
    line(fmt::format("long* const cells = p.cells + row * {};", code_.size()));
    for (const std::uint16_t n : known_before(number_of_pass)) {
      line(fmt::format("const {0} u{1} = cell_as<{0}>(cells[{1}]); (void)u{1};",
                       name_of(code_[n].result), n));
    }
  };
  if (!pass.elements.empty() || !pass.rows.empty()) {
    begin_kernel(fmt::format("part_{}", number_of_pass), p_.threads);
    line("__shared__ alignas(16) char room[512];");
    line(
        "const step_number row = (step_number)(blockIdx.x / p.splits); const step_number split = "
        "(step_number)(blockIdx.x "
        "% p.splits);");
    line("const unsigned lane = threadIdx.x;");
    line(
        "const u64 first = split * p.split_steps; const u64 end = first + p.split_steps < "
        "p.row_steps ? first + p.split_steps : p.row_steps;");
    offsets(all, "row", 0, p_.outer_loops, "", "r");
    cells();
    pass_over(pass, "(step_number)first + lane", "end");
    join(pass.rows, fmt::format("{}", p_.team));
    std::size_t place = 0;
    for (const std::uint16_t n : pass.rows) {
      line(
          fmt::format("if (lane == 0) *(decltype(a{0})*)(p.partials + ((row * p.splits + split) * "
                      "{1} + {2}) * 16) = a{0};",
                      n, pass.rows.size(), place++));
    }
    line("}");
  }
  begin_kernel(fmt::format("join_{}", number_of_pass), 256);
  line("char* const room = nullptr;");
  line(
      "const step_number row = (step_number)blockIdx.x * 8 + threadIdx.x / 32; const unsigned lane "
      "= "
      "threadIdx.x % 32;");
  line("if (row >= p.rows) return;");
  offsets(all, "row", 0, p_.outer_loops, "", "r");
  cells();
  accumulators(pass.rows);
  line("for (u64 s = lane; s < p.splits; s += 32) {");
  std::size_t place = 0;
  for (const std::uint16_t n : pass.rows) {
    line(
        fmt::format("a{0} = {1}::join(a{0}, *(const decltype(a{0})*)(p.partials + ((row * p.splits "
                    "+ s) * {2} + {3}) * 16));",
                    n, elementwise::traits_of(code_[n].op).name, pass.rows.size(), place++));
  }
  line("}");
  join(pass.rows, "32");
  for (const std::uint16_t n : pass.rows) {
    const bool is_place = code_[n].op == opcode::row_argmin || code_[n].op == opcode::row_argmax;
    line(fmt::format("const {} u{} = a{}{};", name_of(code_[n].result), n, n,
                     is_place ? ".place" : ""));
    line(fmt::format("if (lane == 0) put_cell(cells + {0}, u{0});", n));
  }
  uniform(pass.uniform);
  for (const std::uint16_t n : pass.uniform) {
    if (code_[n].op != opcode::constant && code_[n].op != opcode::output) {
      line(fmt::format("if (lane == 0) put_cell(cells + {0}, u{0});", n));
    }
  }
  line("}");
}

}  // namespace

std::string source_of(const elementwise::bound_request& r, const elementwise::loops& over,
                      const kernel_plan& p) {
  return kernel_writer(r, over, p).run();
}

}  // namespace troupe::cuda
