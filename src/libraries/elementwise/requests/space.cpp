#include "libraries/elementwise/requests/space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace troupe::elementwise {
namespace {

error counts_differ(std::string_view what, std::size_t given, int wanted) {
  return {.code = errc::invalid_argument,
          .message = fmt::format("the program has {} {}, and {} are given", wanted, what, given)};
}

template <class R>
std::optional<error> miscounted(const R& r) {
  if (r.inputs.size() != static_cast<std::size_t>(r.what.inputs())) {
    return counts_differ("inputs", r.inputs.size(), r.what.inputs());
  }
  if (r.outputs.size() != static_cast<std::size_t>(r.what.outputs())) {
    return counts_differ("outputs", r.outputs.size(), r.what.outputs());
  }
  return std::nullopt;
}

error does_not_fit(std::string_view list, std::size_t i, const any_tensor& t, const space& s) {
  const std::span extents(s.extents.data(), static_cast<std::size_t>(s.rank));
  return {.code = errc::shape_mismatch,
          .message = fmt::format("{}[{}] is [{}] and cannot be broadcast to [{}]", list, i,
                                 fmt::join(t.extents(), ", "), fmt::join(extents, ", "))};
}

/// The extent of a tensor along a dimension of the space; 1 where the tensor has none.
std::int64_t extent_at(const any_tensor& t, int rank, int d) noexcept {
  const int own = d - (rank - t.rank());
  return own < 0 ? 1 : t.extent(own);
}
std::int64_t stride_at(const any_tensor& t, int rank, int d) noexcept {
  const int own = d - (rank - t.rank());
  return own < 0 || t.extent(own) == 1 ? 0 : t.stride(own);
}

bool fits(const any_tensor& t, const space& s) noexcept {
  for (int d = 0; d < s.rank; ++d) {
    const std::int64_t extent = extent_at(t, s.rank, d);
    if (extent != 1 && extent != s.extents[static_cast<std::size_t>(d)]) return false;
  }
  return t.rank() <= s.rank;
}

bool is_one_along_rows(const any_tensor& t, const space& s) noexcept {
  for (int d = 0; d < s.rank; ++d) {
    if (s.is_row_axis(d) && extent_at(t, s.rank, d) != 1) return false;
  }
  return true;
}

bool is_whole(const any_tensor& t, const space& s, bool but_rows) noexcept {
  for (int d = 0; d < s.rank; ++d) {
    if (but_rows && s.is_row_axis(d)) continue;
    if (extent_at(t, s.rank, d) != s.extents[static_cast<std::size_t>(d)]) return false;
  }
  return t.rank() == s.rank;
}

void broadcast(space& s, const any_tensor& t) noexcept {
  if (t.rank() > s.rank) {
    const int more = t.rank() - s.rank;
    std::shift_right(s.extents.begin(), s.extents.end(), more);
    std::fill_n(s.extents.begin(), more, 1);
    s.rank = t.rank();
  }
  for (int d = 0; d < s.rank; ++d) {
    auto& extent = s.extents[static_cast<std::size_t>(d)];
    if (extent == 1) extent = extent_at(t, s.rank, d);
  }
}

/// Finds the axes of a row and the inputs that are constant along it; answers an error, or nothing.
std::optional<error> add_rows(space& s, std::span<const any_tensor> inputs,
                              std::span<const std::int64_t> axes) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!fits(inputs[i], s)) return does_not_fit("inputs", i, inputs[i], s);
  }
  for (const std::int64_t axis : axes) {
    const std::int64_t d = axis < 0 ? axis + s.rank : axis;
    if (d < 0 || d >= s.rank || s.is_row_axis(static_cast<int>(d))) {
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("axes is [{}]; each names another one of {} dimensions",
                                          fmt::join(axes, ", "), s.rank)};
    }
    s.row_axes |= 1U << d;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_one_along_rows(inputs[i], s)) s.repeated |= 1U << i;
  }
  return std::nullopt;
}

}  // namespace

bool space::empty() const noexcept {
  return std::any_of(extents.begin(), extents.begin() + rank,
                     [](std::int64_t n) { return n == 0; });
}

bool space::has_empty_rows() const noexcept {
  for (int d = 0; d < rank; ++d) {
    if (is_row_axis(d) && extents[static_cast<std::size_t>(d)] == 0) return true;
  }
  return false;
}

result<space> space::of(const map& r) {
  if (auto wrong = miscounted(r)) return *std::move(wrong);
  space s{.is_map = true};
  if (r.outputs.empty()) return s;
  s.rank = r.outputs[0].rank();
  std::ranges::copy(r.outputs[0].extents(), s.extents.begin());
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    if (!fits(r.inputs[i], s)) return does_not_fit("inputs", i, r.inputs[i], s);
  }
  for (std::size_t i = 0; i < r.outputs.size(); ++i) {
    if (is_whole(r.outputs[i], s, false)) continue;
    return error{.code = errc::shape_mismatch,
                 .message = fmt::format("outputs[{}] is [{}] and outputs[0] is [{}]", i,
                                        fmt::join(r.outputs[i].extents(), ", "),
                                        fmt::join(r.outputs[0].extents(), ", "))};
  }
  return s;
}

result<space> space::of(std::span<const any_tensor> inputs, std::span<const std::int64_t> axes) {
  space s;
  for (const any_tensor& t : inputs)
    broadcast(s, t);
  if (auto wrong = add_rows(s, inputs, axes)) return *std::move(wrong);
  return s;
}

result<space> space::of(const rows& r) {
  if (auto wrong = miscounted(r)) return *std::move(wrong);
  space s;
  if (r.outputs.empty()) return s;
  for (const any_tensor& t : r.inputs)
    broadcast(s, t);
  for (const any_tensor& t : r.outputs)
    broadcast(s, t);
  if (auto wrong = add_rows(s, r.inputs, r.axes)) return *std::move(wrong);
  for (std::size_t i = 0; i < r.outputs.size(); ++i) {
    if (is_whole(r.outputs[i], s, false)) continue;
    if (!is_whole(r.outputs[i], s, true) || !is_one_along_rows(r.outputs[i], s)) {
      return does_not_fit("outputs", i, r.outputs[i], s);
    }
    s.reduced |= 1U << i;
  }
  return s;
}

namespace {

// Outermost first; merges each into the one before where every operand allows it.
void append(std::vector<loop>& all, loop&& added) {
  if (added.extent == 1) return;
  if (!all.empty()) {
    loop& outer = all.back();
    bool merges = true;
    for (std::size_t k = 0; k < added.strides.size(); ++k)
      merges = merges && outer.strides[k] == added.strides[k] * added.extent;
    if (merges) {
      outer.extent *= added.extent;
      outer.strides = std::move(added.strides);
      return;
    }
  }
  all.push_back(std::move(added));
}

}  // namespace

loops loops::of(const space& s, std::span<const any_tensor> inputs,
                std::span<const any_tensor> outputs, const function& f) {
  loops made;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const instruction one = f.at(i);
    if (one.op != opcode::index && one.op != opcode::position) continue;
    const index_operand wanted{one.op, one.op == opcode::index ? one.a : std::uint16_t{0}};
    if (std::ranges::find(made.indices, wanted) == made.indices.end())
      made.indices.push_back(wanted);
  }
  // Elements may be taken in any order, rows too, but those of a row keep theirs: it is what
  // `row_argmin` counts. So dimensions are sorted by the first output's strides.
  std::vector<int> order;
  for (int d = 0; d < s.rank; ++d) {
    if (!s.is_row_axis(d)) order.push_back(d);
  }
  if (!outputs.empty()) {
    std::ranges::sort(order, [&](int a, int b) {
      const std::int64_t of_a = stride_at(outputs[0], s.rank, a);
      const std::int64_t of_b = stride_at(outputs[0], s.rank, b);
      return of_a != of_b ? of_a > of_b : a < b;
    });
  }
  const std::size_t unordered = order.size();
  for (int d = 0; d < s.rank; ++d) {
    if (s.is_row_axis(d)) order.push_back(d);
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    const int d = order[k];
    loop added{.extent = s.extents[static_cast<std::size_t>(d)], .strides = {}};
    for (const any_tensor& t : inputs)
      added.strides.push_back(stride_at(t, s.rank, d));
    for (const any_tensor& t : outputs)
      added.strides.push_back(stride_at(t, s.rank, d));
    for (const index_operand& one : made.indices) {
      if (one.op == opcode::index) {
        added.strides.push_back(d == s.rank - 1 - one.axis ? 1 : 0);
        continue;
      }
      std::int64_t step = 1;
      for (int inner = d + 1; inner < s.rank; ++inner)
        step *= s.extents[static_cast<std::size_t>(inner)];
      added.strides.push_back(step);
    }
    const bool is_row = k >= unordered || s.is_map;
    (is_row ? made.row_count : made.outer_count) *= added.extent;
    append(is_row ? made.row : made.outer, std::move(added));
  }
  // An empty row needs no dimensions, one of which may have extent 0 within others.
  if (made.row_count == 0) {
    made.row.erase(made.row.begin(), made.row.end() - 1);
    made.row.front().extent = 0;
  }
  return made;
}

std::size_t loops::operand_of(const typed_instruction& one, std::size_t inputs,
                              std::size_t outputs) const noexcept {
  if (one.op == opcode::input) return one.a;
  if (one.op == opcode::output) return inputs + one.b;
  const index_operand wanted{one.op, one.op == opcode::index ? one.a : std::uint16_t{0}};
  const auto place = std::ranges::find(indices, wanted) - indices.begin();
  return inputs + outputs + static_cast<std::size_t>(place);
}

}  // namespace troupe::elementwise
