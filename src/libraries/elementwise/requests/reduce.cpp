#include "libraries/elementwise/requests/rules.hpp"
#include "libraries/elementwise/requests/space.hpp"

#include <troupe/elementwise/reduce.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

namespace troupe::elementwise {
namespace {

bool is_none(const function& f) noexcept { return f == function(); }

value reduced(reduction op, const value& a) {
  switch (op) {
    case reduction::sum:
      return row_sum(a);
    case reduction::product:
      return row_product(a);
    case reduction::minimum:
      return row_min(a);
    case reduction::maximum:
      return row_max(a);
    case reduction::argmin:
      return row_argmin(a);
    case reduction::argmax:
      return row_argmax(a);
    case reduction::mean:
      return row_sum(a) / row_length();
    // The identities of these are the bounds of integers.
    case reduction::any:
      return row_max(a != 0) > 0;
    case reduction::all:
      return row_min(a != 0) > 0;
  }
  return a;
}

/// Which of the values that are reduced are integers of 64 bits from memory, whose sum may not fit.
std::vector<bool> wide_values(const reduce& r) {
  const auto is_wide = [](dtype type) { return type == dtype::i64 || type == dtype::u64; };
  std::vector<dtype> types;
  types.reserve(r.inputs.size());
  for (const any_tensor& t : r.inputs)
    types.push_back(t.type());
  if (!is_none(r.before) && std::ranges::any_of(types, is_wide)) {
    const auto kinds = r.before.outputs_for(types).value();
    types.clear();
    for (const output_kind& one : kinds)
      types.push_back(one.type);
  }
  std::vector<bool> wide(static_cast<std::size_t>(function::most_inputs), false);
  for (std::size_t i = 0; i < types.size(); ++i)
    wide[i] = is_wide(types[i]);
  return wide;
}

function composed(const reduce& r) {
  const auto count = static_cast<int>(r.inputs.size());
  const std::vector<bool> wide = wide_values(r);
  return function::of(count, [&](std::span<const value> x) {
    std::vector<result_value> values(x.begin(), x.end());
    if (is_none(r.before)) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (is_complex(r.inputs[i].type())) values[i] = complex(x[i]);
      }
    } else {
      values = r.before(values);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      result_value& one = values[i];
      if (wide[i] && r.op == reduction::mean) one.real = cast(one.real, dtype::f64);
      one.real = reduced(r.op, one.real);
      if (one.imaginary) one.imaginary = reduced(r.op, *one.imaginary);
    }
    return is_none(r.after) ? values : r.after(values);
  });
}

bool gives_complex(const reduce& r) noexcept {
  if (is_none(r.before)) {
    return std::ranges::any_of(r.inputs, [](const any_tensor& t) { return is_complex(t.type()); });
  }
  for (std::size_t i = 0; i < r.before.size(); ++i) {
    const instruction one = r.before.at(i);
    if (one.op == opcode::output && one.c == 1) return true;
  }
  return false;
}

std::optional<error> functions_amiss(const reduce& r) {
  for (const auto& [name, f] : {std::pair("before", &r.before), {"after", &r.after}}) {
    if (auto valid = f->check(); !valid) {
      error why = std::move(valid).error();
      why.message = fmt::format("{}: {}", name, why.message);
      return why;
    }
  }
  const auto amiss = [](errc code, std::string message) {
    return error{.code = code, .message = std::move(message)};
  };
  const auto inputs = static_cast<int>(r.inputs.size());
  if (inputs == 0 || inputs > function::most_inputs) {
    return amiss(errc::invalid_argument, fmt::format("{} inputs; there must be from 1 to {}",
                                                     inputs, function::most_inputs));
  }
  if (!is_none(r.before) && r.before.inputs() != inputs) {
    return amiss(errc::invalid_argument,
                 fmt::format("before has {} inputs, and {} are given", r.before.inputs(), inputs));
  }
  const int values = is_none(r.before) ? inputs : r.before.outputs();
  if (!is_none(r.after) && r.after.inputs() != values) {
    return amiss(errc::invalid_argument,
                 fmt::format("after has {} inputs, and there are {} reduced values",
                             r.after.inputs(), values));
  }
  if (r.op != reduction::sum && r.op != reduction::mean && gives_complex(r)) {
    return amiss(errc::type_mismatch,
                 "the operands are complex; complex numbers have only sums and means");
  }
  return std::nullopt;
}

/// A view of an output with extent 1 along the axes; nothing for other extents.
std::optional<any_tensor> with_row_axes(const any_tensor& t, const space& s) noexcept {
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};
  const auto rank = static_cast<std::size_t>(s.rank);
  int own = 0;
  const bool kept = t.rank() == s.rank;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool is_row = s.is_row_axis(static_cast<int>(d));
    extents[d] = strides[d] = 1;
    if (is_row && !kept) continue;
    if (own == t.rank() || t.extent(own) != (is_row ? 1 : s.extents[d])) return std::nullopt;
    extents[d] = t.extent(own);
    strides[d] = t.stride(own++);
  }
  if (own != t.rank()) return std::nullopt;
  return any_tensor::unowned(t.address(), t.type(), shape(std::span(extents).first(rank)),
                             std::span(strides).first(rank), t.space());
}

error does_not_fit(std::size_t i, const any_tensor& t, const space& s) {
  std::vector<std::int64_t> kept;
  std::vector<std::int64_t> removed;
  for (int d = 0; d < s.rank; ++d) {
    const std::int64_t extent = s.extents[static_cast<std::size_t>(d)];
    kept.push_back(s.is_row_axis(d) ? 1 : extent);
    if (!s.is_row_axis(d)) removed.push_back(extent);
  }
  return {.code = errc::shape_mismatch,
          .message = fmt::format("outputs[{}] is [{}] and must be [{}] or [{}]", i,
                                 fmt::join(t.extents(), ", "), fmt::join(kept, ", "),
                                 fmt::join(removed, ", "))};
}

}  // namespace

result<rows> rows_of(const reduce& r) {
  if (auto amiss = functions_amiss(r)) return *std::move(amiss);
  rows made{.inputs = r.inputs, .axes = r.axes};
  if (r.axes.empty()) {
    const auto ranks = std::views::transform(r.inputs, &any_tensor::rank);
    for (std::int64_t d = 0; d < *std::ranges::max_element(ranks); ++d)
      made.axes.push_back(d);
  }
  const auto over = space::of(made.inputs, made.axes);
  if (!over) return over.error();
  for (std::size_t i = 0; i < r.outputs.size(); ++i) {
    const auto view = with_row_axes(r.outputs[i], *over);
    if (!view) return does_not_fit(i, r.outputs[i], *over);
    made.outputs.push_back(*view);
  }
  try {
    made.what = composed(r);
  } catch (const failure& f) {  // one that is too long, or wants parts that a value does not have
    return f.error();
  }
  return made;
}

void reduce::describe(description<reduce>& d) {
  d.about("Reduces along axes: outputs = after(op(before(inputs))), in one pass over memory.");
  d.reads("inputs", &reduce::inputs, {}, "operands, broadcast together");
  d.writes("outputs", &reduce::outputs, {}, "with extent 1 along the axes, or without them");
  d.derived(&reduce::outputs, &forms_of_outputs);
  d.group("before", &reduce::before);
  d.value("op", &reduce::op, "how one value is made of many");
  d.group("after", &reduce::after);
  d.value("axes", &reduce::axes,
          "dimensions that are reduced, all if there are none; negative ones count from the last");
  d.rule(
      "there is an input; the functions are valid for these tensors, and after takes what before "
      "gives; the inputs can be broadcast together; an output has their extents but for the axes, "
      "and is apart from each input; complex values are summed or averaged",
      [](argument_checks& check, const reduce& r) { check_request(check, r); });
}

}  // namespace troupe::elementwise
