#include "libraries/elementwise/cuda/compiled/callback_source.hpp"

#include "libraries/elementwise/cuda/compiled/program_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::cuda {
namespace {

using elementwise::opcode;
namespace gpu = elementwise::gpu;

std::size_t constants_of(const elementwise::bound_request& r) {
  return static_cast<std::size_t>(std::ranges::count_if(
      r.program.code, [](const auto& one) { return one.op == opcode::constant; }));
}

/// A plan for one element per step; nothing is kept between passes.
kernel_plan one_element(std::size_t operands) {
  kernel_plan p;
  p.is_map = true;
  p.uses.resize(operands);
  p.steps.resize(operands);
  return p;
}

class callback_writer : program_writer {
 public:
  callback_writer(const callback_program& program, const kernel_plan& p)
      : program_writer(program.request, program.over, p), program_(program) {}

  [[nodiscard]] std::string run(std::string_view name) {
    const elementwise::pass& pass = r_.program.passes[0];
    mark_elements(pass.elements);
    const auto operands = operands_of(pass.elements);
    const std::size_t own = program_.numbers_operand();
    const bool is_double = elementwise::number_of(type_of(own)) == elementwise::number::f64;
    const bool pair = is_complex(type_of(own));
    const std::string_view type =
        pair ? (is_double ? "double2" : "float2") : (is_double ? "double" : "float");
    begin_text();
    line(fmt::format("struct words {{ char* address[{}]; long constants[{}]; }};",
                     program_.operands(), std::max<std::size_t>(constants_of(r_), 1)));
    // cuFFT looks up the mangled C++ name, so the parameters must match exactly.
    line(program_.loads
             ? fmt::format(
                   "__device__ {} {}(void*, unsigned long long offset, void* info, void*) {{", type,
                   name)
             : fmt::format("__device__ void {}(void*, unsigned long long offset, {} number, void* "
                           "info, void*) {{",
                           name, type));
    line("const words& p = *(const words*)info;");
    line("const int j = 0;");
    const std::string_view nothing = program_.loads ? "return {};" : "return;";
    place(operands, nothing);
    std::vector<std::size_t> loaded = operands;
    if (!program_.loads) {
      std::erase(loaded, own);
      const std::string_view element = element_name(type_of(own));
      line(pair ? fmt::format("vector<{}, 1> x0; x0.at[0].part[0] = number.x; x0.at[0].part[1] = "
                              "number.y;",
                              element)
                : fmt::format("vector<{}, 1> x0; x0.at[0] = number;", element));
    }
    loads(loaded);
    const std::vector<std::size_t> stores = declare_stores(pass.elements);
    compute(pass.elements);
    for (const std::size_t k : stores) {
      if (k != own) {
        line(fmt::format("store_vector((char*)o{0}, y{0});", k));
      } else {
        line(pair ? fmt::format("return {{y{0}.at[0].part[0], y{0}.at[0].part[1]}};", k)
                  : fmt::format("return y{}.at[0];", k));
      }
    }
    line("}");
    return std::move(text_);
  }

 private:
  /// Declares the position of each operand: the digits of the offset are the indices of the loops.
  void place(const std::vector<std::size_t>& operands, std::string_view nothing) {
    for (const std::size_t k : operands) {
      if (k != program_.numbers_operand())
        line(in_memory(k) ? fmt::format("long o{0} = (long)p.address[{0}];", k)
                          : fmt::format("long o{} = 0;", k));
    }
    // cuFFT passes only offsets within the layout, but does not document it.
    line(fmt::format("if (offset >= {}ul) {}", program_.span, nothing));
    constexpr std::int64_t narrow = std::int64_t{1} << 32;
    line(program_.span < narrow ? "unsigned rest = (unsigned)offset;"
                                : "unsigned long rest = offset;");
    std::int64_t room = program_.span;  // the span of the remaining loops
    for (const callback_loop& one : program_.loops) {
      line(one.step == 1
               ? "{ const auto at = rest; rest = 0;"
               : fmt::format("{{ const auto at = rest / {0}; rest -= at * {0};", one.step));
      // The loop's last number may be followed by a gap before the next step.
      if (one.step * one.extent < room) line(fmt::format("if (at >= {}) {}", one.extent, nothing));
      for (const std::size_t k : operands) {
        if (k != program_.numbers_operand() && one.strides[k] != 0)
          line(fmt::format("o{} += (long)at * {}l;", k, one.strides[k]));
      }
      line("}");
      room = one.step;
    }
    if (room > 1) line(fmt::format("if (rest != 0) {}", nothing));
  }

  const callback_program& program_;
};

}  // namespace

std::optional<callback_program> callback_program::of(const elementwise::map& what, bool loads) {
  auto bound = elementwise::bind(what);
  if (!bound || bound->over.empty()) return std::nullopt;
  callback_program made{
      .request = *std::move(bound), .over = {}, .loads = loads, .loops = {}, .span = 0};
  made.over = elementwise::loops::of(made.request.over, what.inputs, what.outputs, what.what);
  const bool asks_for_rows = std::ranges::any_of(
      made.request.program.code, [](const auto& one) { return one.op == opcode::row_length; });
  if (asks_for_rows || made.operands() > gpu::most_operands ||
      constants_of(made.request) > gpu::most_cells) {
    return std::nullopt;
  }
  // Threads of cuFFT may access neighbouring elements, but not tiles.
  const auto as_kernel = kernel_plan::of(made.request, made.over, what.what, 1);
  if (!as_kernel || as_kernel->tiled) return std::nullopt;
  const std::size_t numbers = made.numbers_operand();
  for (const elementwise::loop& one : made.over.row) {
    callback_loop added{.extent = one.extent, .step = one.strides[numbers], .strides = one.strides};
    for (std::size_t k = 0; k < what.inputs.size() + what.outputs.size(); ++k) {
      const any_tensor& t =
          k < what.inputs.size() ? what.inputs[k] : what.outputs[k - what.inputs.size()];
      added.strides[k] *= size_of(t.type());
    }
    made.loops.push_back(std::move(added));
  }
  std::ranges::sort(made.loops, std::ranges::greater(), &callback_loop::step);
  std::int64_t inner = 1;  // the numbers that the inner loops span
  for (auto one = made.loops.rbegin(); one != made.loops.rend(); ++one) {
    if (one->step < inner) return std::nullopt;
    inner = one->step * one->extent;
  }
  made.span = inner;
  return made;
}

std::string callback_source(const callback_program& program, const std::string& name) {
  const kernel_plan p = one_element(program.operands());
  return callback_writer(program, p).run(name);
}

}  // namespace troupe::cuda
