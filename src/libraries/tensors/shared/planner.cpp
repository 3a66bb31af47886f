#include "libraries/tensors/shared/planner.hpp"

#include "libraries/tensors/shared/functions.hpp"
#include "libraries/tensors/shared/pair.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe::tensors {
namespace {

// The alignment of workspace parts, good for vectors and tensor cores.
constexpr std::size_t alignment = 256;

bool is_one(const scalar& s) noexcept { return s.as<double>() == 1 && !s.has_imaginary(); }
const scalar* factor_of(const target& to) noexcept { return to.c ? &to.beta : nullptr; }

}  // namespace

std::int64_t planner::count(std::string_view modes) const noexcept {
  std::int64_t all = 1;
  for (const char mode : modes)
    all *= extents_[mode];
  return all;
}

named_place planner::operand(int number, const any_tensor& t, std::string_view modes,
                             std::int64_t first) {
  named_place made;
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};
  for (std::size_t d = 0; d < modes.size(); ++d) {
    const std::int64_t extent = t.extent(static_cast<int>(d));
    if (extent == 1) continue;
    std::size_t at = made.modes.find(modes[d]);
    if (at == std::string::npos) {
      at = made.modes.size();
      made.modes += modes[d];
      extents[at] = extent;
    }
    strides[at] += t.stride(static_cast<int>(d));
  }
  const std::size_t rank = made.modes.size();
  made.number = program_.places.size();
  program_.places.push_back(
      {.layout = any_tensor::unowned(nullptr, t.type(), shape(std::span(extents).first(rank)),
                                     std::span(strides).first(rank)),
       .operand = number,
       .offset_bytes = static_cast<std::size_t>(first * size_of(t.type()))});
  return made;
}

std::size_t planner::add(const named_place& of, std::span<const std::int64_t> extents,
                         std::span<const std::int64_t> strides) {
  place made = program_.places[of.number];
  made.layout = any_tensor::unowned(nullptr, made.layout.type(), shape(extents), strides);
  program_.places.push_back(made);
  return program_.places.size() - 1;
}

named_place planner::temporary(dtype type, std::string_view modes) {
  named_place made{.number = program_.places.size(), .modes = std::string(modes)};
  std::vector<std::int64_t> extents;
  for (const char mode : modes)
    extents.push_back(extents_[mode]);
  const std::size_t bytes = static_cast<std::size_t>(count(modes) * size_of(type));
  program_.places.push_back(
      {.layout = any_tensor::unowned(nullptr, type, shape(std::span<const std::int64_t>(extents))),
       .offset_bytes = allocate(bytes)});
  return made;
}

std::size_t planner::allocate(std::size_t bytes) {
  const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
  std::size_t first = 0;
  auto at = held_.begin();
  for (; at != held_.end() && at->first - first < size; ++at)
    first = at->last;
  held_.insert(at, {program_.places.size(), first, first + size});
  end_ = std::max(end_, first + size);
  return first;
}

void planner::release(const named_place& one) {
  std::erase_if(held_, [&](const block& b) { return b.place == one.number; });
}

std::size_t planner::ordered(const named_place& one, std::string_view order) {
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};
  const any_tensor of = layout(one);
  for (std::size_t d = 0; d < order.size(); ++d) {
    const std::size_t own = one.modes.find(order[d]);
    extents[d] = own == std::string::npos ? 1 : of.extent(static_cast<int>(own));
    strides[d] = own == std::string::npos ? 1 : of.stride(static_cast<int>(own));
  }
  return add(one, std::span(extents).first(order.size()), std::span(strides).first(order.size()));
}

std::int64_t planner::stride(const named_place& one, char mode) const noexcept {
  for (std::size_t d = 0; d < one.modes.size(); ++d) {
    if (one.modes[d] == mode) return layout(one).stride(static_cast<int>(d));
  }
  return 0;
}

std::string planner::by_stride(const named_place& one) const {
  std::string modes = one.modes;
  const auto place = [&](char mode) { return std::pair(-stride(one, mode), one.modes.find(mode)); };
  std::ranges::sort(modes, {}, place);
  return modes;
}

void planner::map(std::span<const named_place> inputs, const named_place& d,
                  elementwise::function what) {
  step made{.what = step::kind::map, .function = std::move(what)};
  for (const named_place& one : inputs)
    made.inputs.push_back(ordered(one, d.modes));
  made.output = d.number;
  program_.steps.push_back(std::move(made));
}

void planner::rows(std::span<const named_place> inputs, const named_place& d,
                   elementwise::function what) {
  // Rows in the order of the first input's memory.
  const mode_set kept = d.set();
  std::string order = d.modes;
  step made{.what = step::kind::rows, .function = std::move(what)};
  for (const char mode : by_stride(inputs[0])) {
    if ((kept & set_of(mode)) != 0) continue;
    made.axes.push_back(static_cast<std::int64_t>(order.size()));
    order += mode;
  }
  for (const named_place& one : inputs)
    made.inputs.push_back(ordered(one, order));
  made.output = ordered(d, order);
  program_.steps.push_back(std::move(made));
}

// Repeated tensors step by 0, which libraries do not, and they have no integers.
bool planner::has_own_elements(const named_place& one) const {
  const dtype type = this->type(one);
  return between(type) == type && !is_integer(type) &&
         std::ranges::all_of(layout(one).strides(), [](std::int64_t s) { return s > 0; });
}

bool planner::by_library(const named_place& a, const target& to) const {
  if (machine_.library == library_use::never || (to.c && !to.in_place) || a.modes.empty() ||
      (a.set() | to.d.set()) != a.set() || !has_own_elements(a) || !has_own_elements(to.d)) {
    return false;
  }
  if (machine_.library == library_use::always) return true;
  // Our copy is as fast along the innermost mode, if that is d's, too, or summed.
  const mode_set innermost = set_of(by_stride(a).back());
  return a.set() == to.d.set() ? innermost != set_of(by_stride(to.d).back())
                               : (innermost & to.d.set()) != 0;
}

void planner::sum(std::span<const named_place> inputs, const named_place& d, const scalar& alpha,
                  const scalar& beta) {
  step made{.what = step::kind::sum, .output = d.number, .alpha = alpha, .beta = beta};
  const auto add_names = [&](const named_place& one) {
    auto& names = made.names.emplace_back();
    for (const char mode : one.modes)
      names.push_back(number_of(mode));
  };
  for (const named_place& one : inputs) {
    made.inputs.push_back(one.number);
    add_names(one);
  }
  add_names(d);
  program_.steps.push_back(std::move(made));
}

void planner::move(const named_place& a, const target& to) {
  if (!to.c && !to.in_place && a.set() == to.d.set() && by_library(a, to)) {
    return sum({&a, 1}, to.d, to.alpha, 0);
  }
  const bool same = a.set() == to.d.set() && type(a) == type(to.d);
  if (same && !to.c && is_one(to.alpha)) {
    program_.steps.push_back(
        {.what = step::kind::copy, .inputs = {ordered(a, to.d.modes)}, .output = to.d.number});
    return;
  }
  std::vector<named_place> inputs = {a};
  if (to.c) inputs.push_back(*to.c);
  map(inputs, to.d, scaled_product(1, complex(to.d), to.alpha, factor_of(to)));
}

void planner::scale(const target& to) {
  if (to.c) {
    if (to.in_place && is_one(to.beta)) return;
    return move(*to.c, {.d = to.d, .in_place = to.in_place, .alpha = to.beta});
  }
  map({}, to.d, elementwise::function::of(0, [&](auto) {
        std::vector<elementwise::result_value> zero;
        if (complex(to.d)) {
          zero.emplace_back(elementwise::complex_value{0.0, 0.0});
        } else {
          zero.emplace_back(elementwise::value(0.0));
        }
        return zero;
      }));
}

void planner::reduce(const named_place& a, reduction op, const target& to) {
  if (a.set() == to.d.set()) return move(a, to);
  if (op == reduction::sum && by_library(a, to)) {
    return sum({&a, 1}, to.d, to.alpha, to.c ? to.beta : scalar(0));
  }
  std::vector<named_place> inputs = {a};
  if (to.c) inputs.push_back(*to.c);
  rows(inputs, to.d, scaled_reduction(op, complex(to.d), to.alpha, factor_of(to)));
}

named_place planner::without(named_place a, mode_set summed) {
  if ((a.set() & summed) == 0) return a;
  std::string kept = by_stride(a);
  std::erase_if(kept, [&](char mode) { return (summed & set_of(mode)) != 0; });
  named_place made = temporary(between(type(a)), kept);
  reduce(a, reduction::sum, {.d = made});
  release(a);
  return made;
}

// No library multiplies matrices of integers, whose products are reductions of rows.
bool planner::multiplies_matrices(const named_place& a, const named_place& b) const {
  return a.set() != b.set() && !is_integer(type(a));
}

named_place planner::with_innermost(named_place a, mode_set summed) {
  std::string order = by_stride(a);
  if ((set_of(order.back()) & summed) != 0) return a;
  std::ranges::stable_partition(order, [&](char mode) { return (set_of(mode) & summed) == 0; });
  const named_place made = temporary(type(a), order);
  move(a, {.d = made});
  release(a);
  return made;
}

void planner::contract(named_place a, named_place b, const target& to) {
  const mode_set kept = to.d.set();
  a = without(a, a.set() & ~(b.set() | kept));
  b = without(b, b.set() & ~(a.set() | kept));
  const mode_set sums = a.set() & b.set() & ~kept;
  if (sums != 0 && a.set() != b.set() && is_integer(type(a))) {
    a = with_innermost(a, sums);
    b = with_innermost(b, sums);
  }
  std::vector<named_place> inputs = {a, b};
  if (to.c) inputs.push_back(*to.c);
  const scalar* const beta = to.c ? &to.beta : nullptr;
  if (sums == 0) {
    map(inputs, to.d, scaled_product(2, complex(to.d), to.alpha, beta));
  } else if (!multiplies_matrices(a, b)) {
    const bool dots = machine_.dots && !is_integer(type(a));
    pair_planner pair(*this, a, b, &to.d, kept);
    if (dots && pair.is_dot()) return pair.write(to);
    rows(inputs, to.d, scaled_sum(2, complex(to.d), to.alpha, beta));
  } else {
    return pair_planner(*this, a, b, &to.d, kept).write(to);
  }
  release(a);
  release(b);
}

named_place planner::contract(named_place a, named_place b, mode_set kept) {
  kept &= a.set() | b.set();
  a = without(a, a.set() & ~(b.set() | kept));
  b = without(b, b.set() & ~(a.set() | kept));
  const bool sums = (a.set() & b.set() & ~kept) != 0;
  if (sums && multiplies_matrices(a, b)) return pair_planner(*this, a, b, nullptr, kept).write();
  std::string order;
  for (const named_place* const one : {&a, &b}) {
    for (const char mode : by_stride(*one)) {
      if ((kept & set_of(mode)) != 0 && order.find(mode) == std::string::npos) order += mode;
    }
  }
  const named_place made = temporary(between(type(a)), order);
  contract(a, b, {.d = made});
  return made;
}

}  // namespace troupe::tensors
