#include "libraries/elementwise/cpu/interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace troupe::cpu {

using elementwise::number;
using elementwise::opcode;

namespace {

constexpr std::size_t bytes_of(number type) noexcept {
  switch (type) {
    case number::boolean:
      return 1;
    case number::f32:
      return 4;
    default:
      return 8;
  }
}

template <class T>
void repeat(std::byte* to, const std::byte* from, std::size_t n) {
  T one;
  std::memcpy(&one, from, sizeof one);
  std::fill_n(reinterpret_cast<T*>(to), n, one);
}
void repeat(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t n) {
  if (bytes == 1) return repeat<std::uint8_t>(to, from, n);
  if (bytes == 4) return repeat<std::uint32_t>(to, from, n);
  repeat<std::uint64_t>(to, from, n);
}

template <class T>
void put(std::byte* to, T x) {
  std::memcpy(to, &x, sizeof x);
}

// True if elements are in memory what programs compute with.
bool is_number(dtype type) noexcept {
  return type == dtype::f32 || type == dtype::f64 || type == dtype::i64;
}

accumulator start_of(const elementwise::typed_instruction& one) noexcept {
  accumulator s;
  if (one.op == opcode::row_product) {
    s.real = 1;
    s.integer = 1;
  }
  const bool least = one.op == opcode::row_minimum;
  if (least || one.op == opcode::row_maximum) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    s.real = least ? infinite : -infinite;
    s.single = static_cast<float>(s.real);
    s.integer =
        least ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  }
  return s;
}

void put_result(const elementwise::typed_instruction& one, const accumulator& s, std::byte* to) {
  if (one.result == number::i64) {
    const bool is_place = one.op == opcode::row_argmin || one.op == opcode::row_argmax;
    return put(to, is_place ? s.place : s.integer);
  }
  if (one.result == number::f64) return put(to, s.real);
  const bool in_f64 = one.op == opcode::row_sum || one.op == opcode::row_product;
  put(to, in_f64 ? static_cast<float>(s.real) : s.single);
}

}  // namespace

interpreter::interpreter(const elementwise::bound_request& r, const elementwise::loops& over,
                         const elementwise::function& f)
    : r_(r),
      over_(over),
      kernels_(block_kernels::mine()),
      cells_(r.program.code.size()),
      passes_(r.program.passes.size()),
      offsets_(r.inputs.size() + r.outputs.size() + over.indices.size()) {
  for (const cell& one : cells_)
    cell_places_.push_back(one.bytes.data());
  for (std::size_t k = 0; k < r.inputs.size() + r.outputs.size(); ++k) {
    const bool side_by_side = over.row.empty() || over.row.back().strides[k] == 1;
    plain_.push_back(side_by_side && is_number(tensor(k).type()));
  }
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    for (std::size_t o = 0; o < r.outputs.size(); ++o) {
      if (r.inputs[i].address() != r.outputs[o].address()) continue;
      plain_[i] = false;
      plain_[r.inputs.size() + o] = false;
    }
  }
  for (std::size_t p = 0; p < passes_.size(); ++p)
    plan(r.program.passes[p], passes_[p], f);
}

std::byte* interpreter::new_buffer() {
  if (free_.empty()) {
    buffers_.push_back(std::make_unique<std::byte[]>(std::size_t{block} * sizeof(cell)));
    return buffers_.back().get();
  }
  std::byte* const one = free_.back();
  free_.pop_back();
  return one;
}

const std::byte* interpreter::constant(const instruction& one, const elementwise::function& f) {
  std::byte*& made = constants_[{one.a, one.type}];
  if (made != nullptr) return made;
  buffers_.push_back(std::make_unique<std::byte[]>(std::size_t{block} * sizeof(cell)));
  made = buffers_.back().get();
  const scalar value = elementwise::constant_of(f, one.a);
  cell one_cell;
  switch (one.type) {
    case number::boolean:
      put(one_cell.bytes.data(), value.as<double>() != 0);
      break;
    case number::i64:
      put(one_cell.bytes.data(), value.as<std::int64_t>());
      break;
    case number::f32:
      put(one_cell.bytes.data(), value.as<float>());
      break;
    case number::f64:
      put(one_cell.bytes.data(), value.as<double>());
      break;
  }
  repeat(made, one_cell.bytes.data(), bytes_of(one.type), std::size_t{block});
  return made;
}

interpreter::step interpreter::step_of(std::uint16_t n) const {
  const instruction& one = r_.program.code[n];
  step made{.what = &one};
  switch (one.op) {
    case opcode::input:
      made.operand = one.a;
      made.load = kernels_.load(r_.inputs[one.a].type());
      break;
    case opcode::output:
      made.operand = r_.inputs.size() + one.b;
      made.store = kernels_.store(r_.outputs[one.b].type());
      break;
    case opcode::index:
    case opcode::position:
      made.operand = over_.operand_of(one, r_.inputs.size(), r_.outputs.size());
      break;
    case opcode::row_length:
      break;
    default:
      made.compute = kernels_.compute(one);
      break;
  }
  return made;
}

std::vector<std::uint16_t> interpreter::operands_of(std::uint16_t n) const {
  const instruction& one = r_.program.code[n];
  const std::uint16_t all[] = {one.a, one.b, one.c};
  return {all, all + elementwise::value_operands(one.op)};
}

std::optional<std::uint16_t> interpreter::squared_by(const elementwise::pass& of,
                                                     std::uint16_t row) const {
  const auto& code = r_.program.code;
  const auto uses = [&](std::uint16_t n) {
    auto count = std::ranges::count_if(of.rows, [&](std::uint16_t r) { return code[r].a == n; });
    for (const std::uint16_t e : of.elements)
      count += std::ranges::count(operands_of(e), n);
    return count;
  };
  const instruction& sum = code[row];
  if (sum.op != opcode::row_sum || sum.type != number::f64) return std::nullopt;
  const instruction& square = code[sum.a];
  if (square.op != opcode::multiply || square.a != square.b || uses(sum.a) != 1)
    return std::nullopt;
  const instruction& factor = code[square.a];
  const bool widens = factor.op == elementwise::convert && factor.type == number::f32;
  return widens && uses(square.a) == 2 ? std::optional(factor.a) : std::nullopt;
}

void interpreter::plan(const elementwise::pass& of, pass_plan& made,
                       const elementwise::function& f) {
  const auto& code = r_.program.code;
  std::vector<std::uint16_t> elements = of.elements;
  std::vector<std::uint16_t> taken;  // by row operations, in their order
  for (const std::uint16_t n : of.rows) {
    const auto squared = squared_by(of, n);
    taken.push_back(squared.value_or(code[n].a));
    if (!squared) continue;
    std::erase(elements, code[code[n].a].a);
    std::erase(elements, code[n].a);
  }
  auto& places = made.places;
  places.resize(code.size());
  std::vector<std::byte*> owned(code.size());
  // A buffer is free after the last use of its value.
  std::vector<std::size_t> last_use(code.size(), 0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (const std::uint16_t n : operands_of(elements[i]))
      last_use[n] = i;
  }
  for (const std::uint16_t n : taken)
    last_use[n] = elements.size();
  const auto place_of = [&](std::uint16_t n) {
    if (places[n] == nullptr) {  // known since an earlier pass
      // A buffer of its own: it is filled before the first block, and stays.
      buffers_.push_back(std::make_unique<std::byte[]>(std::size_t{block} * sizeof(cell)));
      std::byte* const to = buffers_.back().get();
      places[n] = to;
      made.repeated.push_back({cells_[n].bytes.data(), to, bytes_of(code[n].result)});
    }
    return &places[n];
  };
  std::vector<std::size_t> step_of_value(code.size(), SIZE_MAX);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint16_t n = elements[i];
    const instruction& one = code[n];
    if (one.op == opcode::constant) {
      places[n] = constant(one, f);
      continue;
    }
    step s = step_of(n);
    const std::byte* const** const to[] = {&s.a, &s.b, &s.c};
    const auto used = operands_of(n);
    for (std::size_t k = 0; k < used.size(); ++k)
      *to[k] = place_of(used[k]);
    if (one.op != opcode::output) {
      s.y = owned[n] = new_buffer();
      places[n] = s.y;
      s.place = &places[n];
      step_of_value[n] = made.elements.size();
    } else if (plain_[s.operand] && step_of_value[one.a] != SIZE_MAX) {
      made.elements[step_of_value[one.a]].output = s.operand;
    }
    made.elements.push_back(s);
    for (const std::uint16_t u : used) {
      if (last_use[u] != i || owned[u] == nullptr) continue;
      free_.push_back(owned[u]);
      owned[u] = nullptr;
    }
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const std::uint16_t n = of.rows[i];
    const bool squares = taken[i] != code[n].a;
    made.rows.push_back({squares ? kernels_.sum_of_squares : kernels_.accumulate(code[n]), &code[n],
                         place_of(taken[i]), cells_[n].bytes.data()});
  }
  for (std::byte* const one : owned) {
    if (one != nullptr) free_.push_back(one);
  }
  for (const std::uint16_t n : of.uniform) {
    const instruction& one = code[n];
    if (one.op == opcode::constant) {
      std::memcpy(cells_[n].bytes.data(), constant(one, f), sizeof(cell));
      continue;
    }
    step s = step_of(n);
    const std::byte* const** const to[] = {&s.a, &s.b, &s.c};
    const auto used = operands_of(n);
    for (std::size_t k = 0; k < used.size(); ++k)
      *to[k] = &cell_places_[used[k]];
    s.y = cells_[n].bytes.data();
    made.uniform.push_back(s);
  }
}

const any_tensor& interpreter::tensor(std::size_t operand) const noexcept {
  const bool input = operand < r_.inputs.size();
  return input ? r_.inputs[operand] : r_.outputs[operand - r_.inputs.size()];
}
std::byte* interpreter::address(std::size_t operand, std::uint16_t part) const noexcept {
  const any_tensor& t = tensor(operand);
  return t.address() + offsets_[operand] * size_of(t.type()) +
         (part != 0 ? size_of(t.type()) / 2 : 0);
}

template <class Run>
void interpreter::for_runs(std::size_t operand, std::int64_t first, std::size_t n, Run run) const {
  const auto& row = over_.row;
  // A value of the whole row lies at offset 0. The row may be empty, and its extents of 0 must not
  // divide.
  if (row.empty() || (first == 0 && n == 1)) return run(0, std::int64_t{0}, n);
  std::array<std::int64_t, max_rank> at{};
  std::int64_t rest = first;
  std::int64_t offset = 0;
  for (std::size_t d = row.size(); d-- > 0;) {
    at[d] = d == 0 ? rest : rest % row[d].extent;
    rest /= row[d].extent;
    offset += at[d] * row[d].strides[operand];
  }
  const std::size_t inner = row.size() - 1;
  while (n > 0) {
    const std::size_t count =
        inner == 0 ? n : std::min(n, static_cast<std::size_t>(row[inner].extent - at[inner]));
    run(offset, row[inner].strides[operand], count);
    n -= count;
    offset -= at[inner] * row[inner].strides[operand];
    at[inner] = 0;
    for (std::size_t d = inner; d-- > 0;) {
      offset += row[d].strides[operand];
      if (++at[d] < row[d].extent) break;
      offset -= row[d].extent * row[d].strides[operand];
      at[d] = 0;
    }
  }
}

std::byte* interpreter::in_memory(std::size_t operand, std::int64_t first, std::size_t n) const {
  if (!plain_[operand]) return nullptr;
  const auto& row = over_.row;
  // Contiguous elements are one loop.
  if (row.size() > 1 && n > 1 &&
      first % row.back().extent + static_cast<std::int64_t>(n) > row.back().extent)
    return nullptr;
  std::byte* found = nullptr;
  for_runs(operand, first, n, [&](std::int64_t offset, std::int64_t, std::size_t) {
    found = address(operand, 0) + offset * size_of(tensor(operand).type());
  });
  return found;
}

void interpreter::execute(const step& s, std::int64_t first, std::size_t n) {
  if (s.compute == nullptr) return move(s, first, n);
  std::byte* const to = s.output ? in_memory(*s.output, first, n) : nullptr;
  std::byte* const y = to != nullptr ? to : s.y;
  const auto at = [](const std::byte* const* place) { return place != nullptr ? *place : nullptr; };
  s.compute(y, at(s.a), at(s.b), at(s.c), n);
  if (s.place != nullptr) *s.place = y;
}

void interpreter::move(const step& s, std::int64_t first, std::size_t n) {
  const instruction& one = *s.what;
  if (one.op == opcode::row_length) return put(s.y, over_.row_count);
  if (one.op == opcode::index || one.op == opcode::position) {
    auto* to = reinterpret_cast<std::int64_t*>(s.y);
    const std::int64_t base = offsets_[s.operand];
    return for_runs(s.operand, first, n,
                    [&](std::int64_t offset, std::int64_t stride, std::size_t count) {
                      for (std::size_t i = 0; i < count; ++i)
                        *to++ = base + offset + static_cast<std::int64_t>(i) * stride;
                    });
  }
  const bool loads = s.load != nullptr;
  const std::byte* const there = in_memory(s.operand, first, n);
  if (!loads && there != nullptr && *s.a == there) return;
  if (loads && s.place != nullptr) {
    *s.place = there != nullptr ? there : s.y;
    if (there != nullptr) return;
  }
  const dtype type = tensor(s.operand).type();
  const std::int64_t bytes = size_of(type);
  const std::int64_t parts = is_complex(type) ? 2 : 1;
  std::byte* const memory = address(s.operand, loads ? one.b : one.c);
  const std::size_t width = bytes_of(one.type);
  std::size_t done = 0;
  for_runs(s.operand, first, n, [&](std::int64_t offset, std::int64_t stride, std::size_t count) {
    std::byte* const at = memory + offset * bytes;
    if (loads && stride == 0 && count > 1) {
      s.load(s.y + done * width, at, 1, 1);
      repeat(s.y + done * width, s.y + done * width, width, count);
    } else if (loads) {
      s.load(s.y + done * width, at, stride * parts, count);
    } else {
      s.store(at, stride * parts, *s.a + done * width, count);
    }
    done += count;
  });
}

void interpreter::run_block(const pass_plan& p, std::int64_t first, std::size_t n) {
  for (const step& s : p.elements) {
    execute(s, first, n);
    if (s.what->op == opcode::row_length) repeat(s.y, s.y, sizeof(cell), n);
  }
}

void interpreter::run(std::int64_t row, std::int64_t first, std::int64_t last) {
  std::ranges::fill(offsets_, 0);
  for (std::size_t d = over_.outer.size(); d-- > 0;) {
    const std::int64_t index = row % over_.outer[d].extent;
    row /= over_.outer[d].extent;
    for (std::size_t k = 0; k < offsets_.size(); ++k)
      offsets_[k] += index * over_.outer[d].strides[k];
  }
  const auto longest = static_cast<std::size_t>(std::min(last - first, block));
  for (const pass_plan& p : passes_) {
    for (const repeated_value& one : p.repeated)
      repeat(one.to, one.from, one.bytes, longest);
    std::vector<accumulator> sums;
    sums.reserve(p.rows.size());
    for (const row_step& one : p.rows)
      sums.push_back(start_of(*one.what));
    if (!p.elements.empty() || !p.rows.empty()) {
      for (std::int64_t at = first; at < last; at += block) {
        const auto n = static_cast<std::size_t>(std::min(last - at, block));
        run_block(p, at, n);
        for (std::size_t i = 0; i < sums.size(); ++i)
          p.rows[i].accumulate(sums[i], *p.rows[i].a, at, n);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      put_result(*p.rows[i].what, sums[i], p.rows[i].y);
    for (const step& s : p.uniform)
      execute(s, 0, 1);
  }
}

}  // namespace troupe::cpu
