#include "libraries/dnn/requests/graph/inference.hpp"

#include "libraries/dnn/requests/graph/text.hpp"
#include "libraries/dnn/requests/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace troupe::dnn {
namespace {

using elementwise::opcode;
using elementwise::opcode_family;
using nodes::entry;
using nodes::kind;
using numbers = std::vector<std::int64_t>;

std::string shown(const numbers& extents) { return fmt::format("[{}]", fmt::join(extents, ", ")); }

/// The extents that all of these are broadcast to.
std::optional<numbers> broadcast(std::span<const numbers* const> all) {
  numbers made;
  for (const numbers* const one : all) {
    if (one->size() > made.size()) made.insert(made.begin(), one->size() - made.size(), 1);
  }
  for (const numbers* const one : all) {
    const std::size_t missing = made.size() - one->size();
    for (std::size_t d = 0; d < one->size(); ++d) {
      std::int64_t& extent = made[missing + d];
      if (extent == 1) extent = (*one)[d];
      if ((*one)[d] != 1 && (*one)[d] != extent) return std::nullopt;
    }
  }
  return made;
}

/// Whether so many elements can be counted, and a tensor may have them.
bool counts(const numbers& extents) {
  std::int64_t room = max_elements;
  for (const std::int64_t extent : extents) {
    room /= std::max<std::int64_t>(extent, 1);
    if (room == 0) return false;
  }
  return true;
}

/// A view that has only extents: dense, at an address that is never read.
any_tensor as_view(const numbers& extents) {
  constexpr std::uintptr_t somewhere = 64;
  return any_tensor::unowned(reinterpret_cast<std::byte*>(somewhere), dtype::f32, shape(extents));
}

class inference {
 public:
  inference(const computation& what, std::span<const entry> entries,
            std::span<const any_tensor> inputs, intermediate_type intermediate)
      : what_(what), entries_(entries), inputs_(inputs), intermediate_(type_of(intermediate)) {}

  result<std::vector<node_form>> run() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      all_.emplace_back();
      if (auto done = infer(i); !done) return std::move(done).error();
      node_form& made = all_.back();
      if (made.extents.size() > static_cast<std::size_t>(max_rank))
        return refused(errc::shape_mismatch, i, fmt::format("more than {} dimensions", max_rank));
      if (!counts(made.extents))
        return refused(
            errc::size_overflow, i,
            fmt::format("{} is more than {} elements", shown(made.extents), max_elements));
      if (!made.settled) made.type = kept_type(made.computed);
    }
    return std::move(all_);
  }

 private:
  error refused(errc code, std::size_t i, std::string_view why) const {
    return {.code = code,
            .message = fmt::format("{}: {}; the computation is {}",
                                   detail::expression_of(entries_, what_.constants(), i), why,
                                   what_.to_string())};
  }
  [[nodiscard]] dtype kept_type(number_class computed) const noexcept {
    switch (computed) {
      case number_class::boolean:
        return dtype::boolean;
      case number_class::i64:
        return dtype::i64;
      case number_class::f32:
        break;
      case number_class::f64:
        return dtype::f64;
    }
    return intermediate_;
  }
  [[nodiscard]] const node_form& operand(const entry& one, std::size_t k) const {
    return all_[one.operands[k]];
  }

  /// The later of the classes; constants do not count beside others, but that a real one beside
  /// integers makes them real.
  [[nodiscard]] node_form common(std::span<const std::uint16_t> operands) const {
    node_form made;
    made.constant = std::ranges::all_of(operands, [&](auto n) { return all_[n].constant; });
    made.computed = number_class::boolean;
    bool real = false;
    bool integer = false;
    for (const std::uint16_t n : operands) {
      const node_form& one = all_[n];
      if (one.constant && !made.constant) {
        (one.computed == number_class::i64 ? integer : real) = true;
      } else {
        made.computed = std::max(made.computed, one.computed);
      }
    }
    if (real) made.computed = std::max(made.computed, number_class::f32);
    if (integer) made.computed = std::max(made.computed, number_class::i64);
    return made;
  }

  [[nodiscard]] result<void> infer(std::size_t i);
  [[nodiscard]] result<void> pointwise(std::size_t i, const entry& one, node_form& made);
  [[nodiscard]] result<void> product(std::size_t i, const entry& one, node_form& made);
  [[nodiscard]] result<void> convolve(std::size_t i, const entry& one, node_form& made);
  [[nodiscard]] result<void> norm(std::size_t i, const entry& one, node_form& made);
  [[nodiscard]] result<void> reduced(std::size_t i, const entry& one, node_form& made);
  [[nodiscard]] result<void> transposed(std::size_t i, const entry& one, node_form& made);
  [[nodiscard]] result<void> broadcast_operands(std::size_t i, const entry& one, node_form& made);

  const computation& what_;
  std::span<const entry> entries_;
  std::span<const any_tensor> inputs_;
  dtype intermediate_;
  std::vector<node_form> all_;
};

result<void> inference::infer(std::size_t i) {
  const entry& one = entries_[i];
  node_form& made = all_.back();
  switch (one.what) {
    case kind::input: {
      const any_tensor& t = inputs_[static_cast<std::size_t>(one.numbers[0])];
      if (is_complex(t.type()))
        return refused(errc::type_mismatch, i, fmt::format("complex, {}", to_string(t.type())));
      made.extents.assign(t.extents().begin(), t.extents().end());
      made.computed = class_of(t.type());
      made.settled = true;
      made.type = t.type();
      return {};
    }
    case kind::constant: {
      const bool real =
          what_.constants()[static_cast<std::size_t>(one.numbers[0])].what() == scalar::kind::real;
      made.computed = real ? number_class::f32 : number_class::i64;
      made.constant = true;
      return {};
    }
    case kind::pointwise:
      return pointwise(i, one, made);
    case kind::activation:
      made = common(one.operands);
      made.computed = std::max(made.computed, number_class::f32);
      made.extents = operand(one, 0).extents;
      return {};
    case kind::cast:
      made.extents = operand(one, 0).extents;
      made.type = static_cast<dtype>(one.detail);
      made.computed = class_of(made.type);
      made.settled = true;
      return {};
    case kind::matmul:
      return product(i, one, made);
    case kind::convolution:
      return convolve(i, one, made);
    case kind::reduction:
      return reduced(i, one, made);
    case kind::layer_norm:
    case kind::rms_norm:
      return norm(i, one, made);
    case kind::transpose:
      return transposed(i, one, made);
  }
  return {};
}

result<void> inference::broadcast_operands(std::size_t i, const entry& one, node_form& made) {
  std::vector<const numbers*> shapes;
  std::vector<std::string> texts;
  for (const std::uint16_t n : one.operands) {
    shapes.push_back(&all_[n].extents);
    texts.push_back(shown(all_[n].extents));
  }
  auto extents = broadcast(shapes);
  if (!extents) {
    return refused(errc::shape_mismatch, i,
                   fmt::format("{} cannot be broadcast together", fmt::join(texts, " and ")));
  }
  made.extents = *std::move(extents);
  return {};
}

result<void> inference::pointwise(std::size_t i, const entry& one, node_form& made) {
  const auto traits = elementwise::traits_of(static_cast<opcode>(one.detail));
  const std::span<const std::uint16_t> operands(one.operands);
  made = common(traits.family == opcode_family::select ? operands.subspan(1) : operands);
  switch (traits.family) {
    case opcode_family::any:
      made.computed = std::max(made.computed, number_class::i64);
      break;
    case opcode_family::real:
      made.computed = std::max(made.computed, number_class::f32);
      break;
    case opcode_family::predicate:
    case opcode_family::comparison:
      made.computed = number_class::boolean;
      made.constant = false;
      break;
    case opcode_family::bits:
    case opcode_family::integer:
      if (made.computed > number_class::i64)
        return refused(errc::type_mismatch, i, "takes integers, and an operand is real");
      if (traits.family == opcode_family::integer) made.computed = number_class::i64;
      break;
    case opcode_family::source:
    case opcode_family::cast:
    case opcode_family::select:
    case opcode_family::row:
    case opcode_family::row_index:
    case opcode_family::output:
      break;
  }
  return broadcast_operands(i, one, made);
}

result<void> inference::product(std::size_t i, const entry& one, node_form& made) {
  const node_form& a = operand(one, 0);
  const node_form& b = operand(one, 1);
  if (a.extents.size() < 2 || b.extents.size() < 2) {
    return refused(errc::shape_mismatch, i,
                   fmt::format("factors have at least two dimensions; they are {} and {}",
                               shown(a.extents), shown(b.extents)));
  }
  const numbers rows(a.extents.end() - 2, a.extents.end());
  const numbers columns(b.extents.end() - 2, b.extents.end());
  if (rows[1] != columns[0]) {
    return refused(errc::shape_mismatch, i,
                   fmt::format("{} has {} columns and {} has {} rows", shown(a.extents), rows[1],
                               shown(b.extents), columns[0]));
  }
  const numbers left(a.extents.begin(), a.extents.end() - 2);
  const numbers right(b.extents.begin(), b.extents.end() - 2);
  const numbers* const batches[] = {&left, &right};
  auto batch = broadcast(batches);
  if (!batch) {
    return refused(errc::shape_mismatch, i,
                   fmt::format("the products of {} and {} cannot be broadcast together",
                               shown(a.extents), shown(b.extents)));
  }
  const auto type = factor_type(a, b);
  if (!type) {
    return refused(errc::type_mismatch, i,
                   fmt::format("factors have one type of f64, f32, f16 and bf16; they are {} and "
                               "{}: cast one",
                               to_string(a.type), to_string(b.type)));
  }
  made.extents = *std::move(batch);
  made.extents.push_back(rows[0]);
  made.extents.push_back(columns[1]);
  made.computed = class_of(*type);
  return {};
}

result<void> inference::convolve(std::size_t i, const entry& one, node_form& made) {
  const node_form& x = operand(one, 0);
  const node_form& w = operand(one, 1);
  const auto type = factor_type(x, w);
  if (!type) {
    return refused(errc::type_mismatch, i,
                   fmt::format("image and filter have one type of f64, f32, f16 and bf16; they "
                               "are {} and {}: cast one",
                               to_string(x.type), to_string(w.type)));
  }
  const std::size_t space = x.extents.size() < 2 ? 0 : x.extents.size() - 2;
  if (space < 1 || space > static_cast<std::size_t>(most_space) ||
      w.extents.size() != x.extents.size()) {
    return refused(errc::shape_mismatch, i,
                   fmt::format("an image is [n, c, space…] with one to three dimensions of space, "
                               "a filter [k, c / groups, space…]; they are {} and {}",
                               shown(x.extents), shown(w.extents)));
  }
  const convolution_forward r = convolution_request(one);
  argument_checks check;
  numbers_fit(check, "stride", r.stride, static_cast<int>(space), 1);
  numbers_fit(check, "dilation", r.dilation, static_cast<int>(space), 1);
  numbers_fit(check, "padding", r.padding, static_cast<int>(space), 0);
  numbers_fit(check, "post_padding", r.post_padding, static_cast<int>(space), 0);
  check.rule(r.groups >= 1, errc::invalid_argument,
             [&] { return fmt::format("groups must be at least 1; it is {}", r.groups); });
  made.extents = {x.extents[0], w.extents[0]};
  if (check.good()) {
    const any_tensor image = as_view(x.extents);
    const any_tensor filter = as_view(w.extents);
    const convolution sizes = laid_out(r, {"x", image}, {"w", filter}, {"y", image});
    for (std::size_t d = 0; d < space; ++d)
      made.extents.push_back(response_extent(sizes, x.extents[d + 2], w.extents[d + 2], d));
    const any_tensor response = as_view(made.extents);
    const convolution whole = laid_out(r, {"x", image}, {"w", filter}, {"y", response});
    channels_fit(extents_fit(check, whole), whole);
    if (check.good()) space_fits(check, whole);
  }
  if (auto valid = check.verdict(); !valid) {
    return refused(valid.error().code, i, valid.error().message);
  }
  made.computed = class_of(*type);
  return {};
}

result<void> inference::norm(std::size_t i, const entry& one, node_form& made) {
  const node_form& x = operand(one, 0);
  made.extents = x.extents;
  made.computed = std::max(common(one.operands).computed, number_class::f32);
  if (x.extents.size() < static_cast<std::size_t>(one.numbers[0])) {
    return refused(
        errc::shape_mismatch, i,
        fmt::format("a norm over {} dimensions of {}", one.numbers[0], shown(x.extents)));
  }
  for (std::size_t k = 1; k < one.operands.size(); ++k) {
    const numbers* const both[] = {&x.extents, &operand(one, k).extents};
    const auto whole = broadcast(both);
    if (!whole || *whole != x.extents) {
      return refused(errc::shape_mismatch, i,
                     fmt::format("{} cannot be broadcast to {}", shown(operand(one, k).extents),
                                 shown(x.extents)));
    }
  }
  return {};
}

result<void> inference::reduced(std::size_t i, const entry& one, node_form& made) {
  const node_form& x = operand(one, 0);
  const auto rank = static_cast<std::int64_t>(x.extents.size());
  numbers axes;
  for (const std::int64_t axis : one.numbers) {
    const std::int64_t d = axis < 0 ? axis + rank : axis;
    if (d < 0 || d >= rank || std::ranges::find(axes, d) != axes.end()) {
      return refused(errc::invalid_argument, i,
                     fmt::format("axes are [{}]; each names another one of {} dimensions",
                                 fmt::join(one.numbers, ", "), rank));
    }
    axes.push_back(d);
  }
  made.extents = x.extents;
  for (const std::int64_t d : axes)
    made.extents[static_cast<std::size_t>(d)] = 1;
  const bool mean = static_cast<elementwise::reduction>(one.detail) == elementwise::reduction::mean;
  made.computed = std::max(x.computed, mean ? number_class::f32 : number_class::i64);
  return {};
}

result<void> inference::transposed(std::size_t i, const entry& one, node_form& made) {
  const node_form& x = operand(one, 0);
  const std::size_t rank = x.extents.size();
  numbers sorted = one.numbers;
  std::ranges::sort(sorted);
  bool permutes = sorted.size() == rank;
  for (std::size_t d = 0; permutes && d < rank; ++d)
    permutes = sorted[d] == static_cast<std::int64_t>(d);
  if (!permutes) {
    return refused(
        errc::invalid_argument, i,
        fmt::format("[{}] is no order of {} dimensions", fmt::join(one.numbers, ", "), rank));
  }
  made.computed = x.computed;
  made.settled = x.settled;
  made.type = x.type;
  for (const std::int64_t d : one.numbers)
    made.extents.push_back(x.extents[static_cast<std::size_t>(d)]);
  return {};
}

}  // namespace

std::optional<dtype> factor_type(const node_form& a, const node_form& b) noexcept {
  const dtype of_a = a.type;
  const dtype of_b = b.type;
  if (a.constant || b.constant || !is_factor_type(of_a) || !is_factor_type(of_b))
    return std::nullopt;
  if (of_a == of_b) return of_a;
  // A factor computed in f32 takes the type of the other one.
  const bool a_follows = !a.settled && a.computed == number_class::f32;
  const bool b_follows = !b.settled && b.computed == number_class::f32;
  if (a_follows && of_b != dtype::f64) return of_b;
  if (b_follows && of_a != dtype::f64) return of_a;
  return std::nullopt;
}

std::vector<std::int64_t> axes_of(const entry& one, int rank) {
  std::vector<std::int64_t> axes;
  if (one.what == kind::reduction) {
    for (const std::int64_t axis : one.numbers)
      axes.push_back(axis < 0 ? axis + rank : axis);
    std::ranges::sort(axes);
  } else {
    for (std::int64_t d = rank - one.numbers[0]; d < rank; ++d)
      axes.push_back(d);
  }
  return axes;
}

convolution_forward convolution_request(const entry& one) {
  convolution_forward made;
  made.groups = one.numbers[0];
  std::size_t at = 1;
  for (auto* const list : {&made.stride, &made.dilation, &made.padding, &made.post_padding}) {
    const auto count = static_cast<std::size_t>(one.numbers[at++]);
    const auto first = one.numbers.begin() + static_cast<std::ptrdiff_t>(at);
    list->assign(first, first + static_cast<std::ptrdiff_t>(count));
    at += count;
  }
  return made;
}

result<std::vector<node_form>> infer(const computation& what, std::span<const entry> entries,
                                     std::span<const any_tensor> inputs,
                                     intermediate_type intermediate) {
  if (inputs.size() != static_cast<std::size_t>(what.inputs())) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("the computation has {} inputs, and {} are given",
                                        what.inputs(), inputs.size())};
  }
  return inference(what, entries, inputs, intermediate).run();
}

}  // namespace troupe::dnn
