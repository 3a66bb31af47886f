#include "libraries/dnn/shared/graph/graph_values.hpp"

#include <functional>

namespace troupe::dnn {
namespace {

using nodes::kind;

const elementwise::function& same() {
  static const auto what =
      elementwise::function::of(1, [](std::span<const elementwise::value> x) { return x[0]; });
  return what;
}

}  // namespace

any_tensor graph_values::room_for(dtype type, std::span<const std::int64_t> extents) {
  const any_tensor made =
      symbolic(graph_memory::room, std::min(room_bytes_, most_room), type, shape(extents));
  constexpr std::int64_t unit = 256;
  room_bytes_ += (made.count() * size_of(type) + unit - 1) / unit * unit;
  return made;
}

// An output is written as its node's base lies: with the dimensions in that order.
void graph_values::take_outputs() {
  for (std::size_t o = 0; o < r_.outputs.size(); ++o) {
    const std::size_t n = nodes_.results()[o];
    const any_tensor& y = r_.outputs[o];
    any_tensor view = symbolic(graph_memory::first_output + o, 0, y.type(), shape(y.extents()),
                               y.strides(), y.space());
    if (nodes_.entry(n).what == kind::transpose) {
      const auto order = nodes_.order(n);
      std::vector<int> back(order.size());
      for (std::size_t d = 0; d < order.size(); ++d)
        back[static_cast<std::size_t>(order[d])] = static_cast<int>(d);
      view = *view.permute(back);
    }
    targets_.emplace_back(nodes_.base(n), std::move(view));
  }
}

std::vector<any_tensor> graph_values::targets_of(std::size_t n) const {
  std::vector<any_tensor> made;
  for (const auto& [node, view] : targets_) {
    if (node == n) made.push_back(view);
  }
  return made;
}

void graph_values::ask_for(std::size_t n, dtype type) {
  auto& all = wanted_[nodes_.base(n)];
  if (std::ranges::find(all, type) == all.end()) all.push_back(type);
}

// The tensors written for a value: outputs, and a temporary for each other type that is read.
// The widest first: narrower ones are copies of it.
std::vector<any_tensor> graph_values::places_for(std::size_t n) {
  std::vector<any_tensor> made = targets_of(n);
  for (const dtype type : wanted_[n]) {
    if (std::ranges::none_of(made, [&](const any_tensor& t) { return t.type() == type; }))
      made.push_back(room_for(type, nodes_.form(n).extents));
  }
  std::ranges::sort(made, std::greater<>(), [](auto& t) { return size_of(t.type()); });
  return made;
}

void graph_values::keep_input(std::size_t n) {
  const auto i = static_cast<std::size_t>(nodes_.entry(n).numbers[0]);
  const any_tensor& x = r_.inputs[i];
  kept_[n].views = {symbolic(i, 0, x.type(), shape(x.extents()), x.strides(), x.space())};
}

any_tensor graph_values::fetch(std::size_t n, dtype type) {
  const std::size_t base = nodes_.base(n);
  kept_value& value = kept_[base];
  const auto found = std::ranges::find(value.views, type, &any_tensor::type);
  if (found != value.views.end()) return viewed(n, *found);
  const any_tensor copy = room_for(type, nodes_.form(base).extents);
  add_copy(*std::ranges::max_element(value.views, {}, [](auto& t) { return size_of(t.type()); }),
           copy);
  value.views.push_back(copy);
  value.step = steps_.size();
  return viewed(n, copy);
}

any_tensor graph_values::packed(const any_tensor& t) {
  const any_tensor copy = room_for(t.type(), t.extents());
  add_copy(t, copy);
  return copy;
}

void graph_values::add_copy(const any_tensor& from, const any_tensor& to) {
  steps_.emplace_back().pieces.emplace_back(
      elementwise::map{.inputs = {from}, .outputs = {to}, .what = same()});
}

void graph_values::keep_result(std::size_t n, const any_tensor& made,
                               std::vector<any_tensor> places) {
  kept_[n] = {.views = {made}, .step = steps_.size()};
  for (any_tensor& to : places) {
    if (to.same_view(made)) continue;
    add_copy(made, to);
    kept_[n].views.push_back(std::move(to));
  }
  kept_[n].step = steps_.size();
}

}  // namespace troupe::dnn
