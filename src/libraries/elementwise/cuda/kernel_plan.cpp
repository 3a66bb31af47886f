#include "libraries/elementwise/cuda/kernel_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe::cuda {
namespace {

using elementwise::loop;
using elementwise::number;
using elementwise::opcode;
namespace gpu = elementwise::gpu;

constexpr std::int64_t narrow_limit = std::int64_t{1} << 31;
constexpr int tile_side = 32;
constexpr std::size_t interpreter_slots = 96;

gpu::loop_parameters loop_of(std::int64_t extent) noexcept {
  gpu::loop_parameters made{static_cast<gpu::u64>(extent), 0, 0};
  if (extent >= narrow_limit || extent < 1) return made;
  while ((std::int64_t{1} << made.shift) < extent)
    ++made.shift;
  const std::uint64_t excess =
      (std::uint64_t{1} << made.shift) - static_cast<std::uint64_t>(extent);
  made.multiplier = static_cast<unsigned>((excess << 32) / static_cast<std::uint64_t>(extent) + 1);
  return made;
}

/// An operand in memory.
struct memory_operand {
  const any_tensor* view;
  std::int64_t bytes;  ///< per element
};

// The largest vector width for which each operand is contiguous and aligned at the start of every
// step.
int vector_of(const std::vector<memory_operand>& operands, const elementwise::loops& over) {
  if (over.row.empty()) return 1;
  const loop& inner = over.row.back();
  std::int64_t least = 16;
  std::int64_t most = 1;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::int64_t stride = inner.strides[k];
    if (stride != 0 && stride != 1) return 1;
    if (stride == 0) continue;
    least = std::min(least, operands[k].bytes);
    most = std::max(most, operands[k].bytes);
  }
  std::int64_t vector = std::max<std::int64_t>(16 / least, 1);
  while (vector * most > 64)
    vector /= 2;
  const auto fits = [&](std::int64_t n) {
    if (inner.extent % n != 0) return false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (inner.strides[k] == 0) continue;
      const std::int64_t unit = std::min<std::int64_t>(16, n * operands[k].bytes);
      if (reinterpret_cast<std::uintptr_t>(operands[k].view->address()) %
              static_cast<std::uintptr_t>(unit) !=
          0) {
        return false;
      }
      const auto aligned = [&](const loop& l) {
        return &l == &inner || l.strides[k] * operands[k].bytes % unit == 0;
      };
      if (!std::ranges::all_of(over.row, aligned) || !std::ranges::all_of(over.outer, aligned)) {
        return false;
      }
    }
    return true;
  };
  while (vector > 1 && !fits(vector))
    vector /= 2;
  return static_cast<int>(vector);
}

// If the fastest dimension of an input differs from the output's, a block works on squares of both
// dimensions, so that either side is accessed in whole cache lines.
int tile_loop_of(const std::vector<memory_operand>& operands, const elementwise::loops& over) {
  constexpr std::int64_t least_extent = 16;
  if (over.row.size() < 2 || over.row.back().extent < least_extent) return -1;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (over.row.back().strides[k] * operands[k].bytes <= 32) continue;
    for (std::size_t d = 0; d + 1 < over.row.size(); ++d) {
      const std::int64_t step = over.row[d].strides[k] * operands[k].bytes;
      if (step > 0 && step <= 8 && over.row[d].extent >= least_extent) return static_cast<int>(d);
    }
  }
  return -1;
}

std::int64_t tiles(std::int64_t extent) { return (extent + tile_side - 1) / tile_side; }

void choose_team(kernel_plan& p, const elementwise::bound_request& r, int multiprocessors) {
  constexpr std::int64_t most_team = 512;
  constexpr std::int64_t most_held = 8;
  constexpr std::int64_t most_held_bytes = 256;
  const auto steps = static_cast<std::int64_t>(p.parameters.row_steps);
  const auto rows = static_cast<std::int64_t>(p.parameters.rows);
  p.team = static_cast<int>(std::clamp<std::int64_t>(
      static_cast<std::int64_t>(
          std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(steps, 1) + 3) / 4)),
      32, most_team));
  p.threads = static_cast<unsigned>(p.team == 32 ? 256 : p.team);
  // If there are too few rows to keep the GPU busy, several blocks share each long row.
  constexpr std::int64_t steps_of_split = 4096;
  const std::int64_t wanted = std::int64_t{multiprocessors} * 4;
  if (rows < wanted / 2 && steps >= 4 * steps_of_split) {
    p.split = true;
    const std::int64_t splits =
        std::min((wanted + rows - 1) / std::max<std::int64_t>(rows, 1), steps / steps_of_split);
    const std::int64_t each = (steps + splits - 1) / splits;
    p.parameters.split_steps = static_cast<gpu::u64>(each);
    p.parameters.splits = static_cast<gpu::u64>((steps + each - 1) / each);
    std::size_t operations = 0;
    for (const auto& one : r.program.passes)
      operations = std::max(operations, one.rows.size());
    p.partial_bytes =
        rows * static_cast<std::int64_t>(p.parameters.splits * operations) * partial_size;
    p.cell_bytes =
        rows *
        static_cast<std::int64_t>(std::max<std::size_t>(r.program.code.size(), interpreter_slots)) *
        8;
    p.blocks = rows * static_cast<std::int64_t>(p.parameters.splits);
    p.joining_blocks = (rows + 7) / 8;  // one warp each
    return;
  }
  std::int64_t held_bytes = 0;
  for (std::size_t k = 0; k < p.uses.size(); ++k) {
    if (p.keeps(k))
      held_bytes += p.vector * (k < r.inputs.size() ? size_of(r.inputs[k].type()) : 8);
  }
  const std::int64_t held = (steps + p.team - 1) / p.team;
  const bool several = r.program.passes.size() > 1;
  if (several && held <= most_held && held * held_bytes <= most_held_bytes) {
    p.held = static_cast<int>(std::max<std::int64_t>(held, 1));
  }
  const std::int64_t rows_of_block = p.threads / static_cast<unsigned>(p.team);
  p.blocks = (rows + rows_of_block - 1) / rows_of_block;
}

}  // namespace

std::int64_t bits_of(number type, const scalar& value) noexcept {
  switch (type) {
    case number::boolean:
      return value.as<double>() != 0 ? 1 : 0;
    case number::i64:
      return value.as<std::int64_t>();
    case number::f32:
      return std::bit_cast<std::int32_t>(value.as<float>());
    case number::f64:
      return std::bit_cast<std::int64_t>(value.as<double>());
  }
  return 0;
}

result<kernel_plan> kernel_plan::of(const elementwise::bound_request& r,
                                    const elementwise::loops& over, const elementwise::function& f,
                                    int multiprocessors) {
  kernel_plan p;
  p.is_map = r.over.is_map;
  std::vector<memory_operand> operands;
  for (const auto& list : {r.inputs, r.outputs}) {
    for (const any_tensor& t : list)
      operands.push_back({&t, size_of(t.type())});
  }
  const std::size_t count = operands.size() + over.indices.size();
  std::size_t constants = 0;
  for (const auto& one : r.program.code)
    constants += one.op == opcode::constant ? std::size_t{1} : 0;
  if (count > gpu::most_operands || over.outer.size() + over.row.size() > gpu::most_loops ||
      constants > gpu::most_cells) {
    return error{.code = errc::unsupported,
                 .message = fmt::format(
                     "{} operands, {} loops and {} constants; a kernel takes {}, {} and {}", count,
                     over.outer.size() + over.row.size(), constants, gpu::most_operands,
                     gpu::most_loops, gpu::most_cells)};
  }
  p.vector = vector_of(operands, over);
  p.outer_loops = static_cast<int>(over.outer.size());
  p.row_loops = static_cast<int>(over.row.size());
  gpu::parameters& to = p.parameters;
  to.rows = static_cast<gpu::u64>(over.outer_count);
  to.row_length = static_cast<gpu::u64>(over.row_count);
  to.row_steps = static_cast<gpu::u64>(over.row_count / p.vector);
  int d = 0;
  for (const auto* const list : {&over.outer, &over.row}) {
    for (const loop& one : *list) {
      const bool inner = list == &over.row && &one == &over.row.back();
      const std::int64_t unit = inner ? p.vector : 1;
      to.loops[d] = loop_of(one.extent / unit);
      for (std::size_t k = 0; k < count; ++k) {
        const std::int64_t bytes = k < operands.size() ? operands[k].bytes : 1;
        to.operands[k].strides[d] = one.strides[k] * unit * bytes;
      }
      ++d;
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    to.operands[k].address =
        k < operands.size() ? reinterpret_cast<char*>(operands[k].view->address()) : nullptr;
    p.steps.push_back(
        over.row.empty() ? 0 : static_cast<std::uint8_t>(over.row.back().strides[k] != 0));
  }
  // An index of another loop than the innermost does not advance by 1.
  if (p.vector > 1) {
    for (std::size_t k = operands.size(); k < count; ++k)
      p.steps[k] = static_cast<std::uint8_t>(over.row.back().strides[k]);
  }
  std::size_t next = 0;
  for (const auto& one : r.program.code) {
    if (one.op != opcode::constant) continue;
    to.constants[next++] = bits_of(one.type, elementwise::constant_of(f, one.a));
  }
  p.wide = over.row_count >= narrow_limit || over.outer_count >= narrow_limit;
  p.uses.resize(count);
  for (const elementwise::pass& pass : r.program.passes) {
    std::vector<bool> used(count, false);
    for (const std::uint16_t n : pass.elements) {
      const auto& one = r.program.code[n];
      if (one.op == opcode::input || one.op == opcode::index || one.op == opcode::position) {
        used[over.operand_of(one, r.inputs.size(), r.outputs.size())] = true;
      }
    }
    for (std::size_t k = 0; k < count; ++k)
      p.uses[k] = static_cast<std::uint8_t>(p.uses[k] + (used[k] ? 1 : 0));
  }
  if (!p.is_map) {
    choose_team(p, r, multiprocessors);
    return p;
  }
  const int tile = p.vector == 1 && !p.wide ? tile_loop_of(operands, over) : -1;
  if (tile >= 0) {
    p.tiled = true;
    p.tile_loop = tile;
    p.blocks = tiles(over.row.back().extent);
    for (std::size_t i = 0; i + 1 < over.row.size(); ++i) {
      const std::int64_t extent = over.row[i].extent;
      p.blocks *= static_cast<int>(i) == tile ? tiles(extent) : extent;
    }
  } else {
    p.blocks = (static_cast<std::int64_t>(to.row_steps) + p.threads - 1) / p.threads;
  }
  return p;
}

key_words kernel_plan::kernel_key(const elementwise::bound_request& r) const {
  key_words key = {is_map | wide << 1 | tiled << 2 | split << 3 | vector << 4 | outer_loops << 12 |
                       row_loops << 16 | tile_loop << 20,
                   team | held << 16 | std::int64_t{r.over.reduced} << 32};
  for (std::size_t k = 0; k < steps.size(); ++k)
    key.push_back(steps[k] | uses[k] << 1);
  for (const auto& list : {r.inputs, r.outputs}) {
    for (const any_tensor& t : list)
      key.push_back(static_cast<std::int64_t>(t.type()));
    key.push_back(-1);
  }
  for (const auto& one : r.program.code) {
    key.push_back(static_cast<std::int64_t>(one.op) | static_cast<std::int64_t>(one.type) << 8 |
                  static_cast<std::int64_t>(one.result) << 12 | std::int64_t{one.fast} << 15 |
                  std::int64_t{one.a} << 16 | std::int64_t{one.b} << 32 |
                  std::int64_t{one.c} << 48);
  }
  return key;
}

}  // namespace troupe::cuda
