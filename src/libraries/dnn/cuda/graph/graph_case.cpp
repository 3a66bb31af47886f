#include "libraries/dnn/cuda/graph/graph_case.hpp"

#include "libraries/dnn/cuda/limits.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"
#include "libraries/dnn/shared/graph/known_graphs.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace troupe::cuda {
namespace {

using dnn::nodes::entry;
using dnn::nodes::kind;
using elementwise::opcode;
using graphs::place;
using mode = graphs::pointwise::kind;
using numbers = std::vector<std::int64_t>;

std::optional<mode> mode_of(const entry& one) noexcept {
  if (one.what == kind::activation) {
    switch (static_cast<dnn::activation>(one.detail)) {
      case dnn::activation::relu:
        return mode::relu;
      case dnn::activation::gelu:
        return mode::gelu;
      case dnn::activation::gelu_tanh:
        return mode::gelu_tanh;
      case dnn::activation::silu:
        return mode::silu;
      case dnn::activation::sigmoid:
        return mode::sigmoid;
      case dnn::activation::tanh:
        return mode::tanh;
      case dnn::activation::softplus:
        return mode::softplus;
      case dnn::activation::none:
      case dnn::activation::clipped_relu:
      case dnn::activation::leaky_relu:
      case dnn::activation::elu:
        return std::nullopt;
    }
  }
  if (one.what != kind::pointwise) return std::nullopt;
  switch (static_cast<opcode>(one.detail)) {
    case opcode::add:
      return mode::add;
    case opcode::subtract:
      return mode::subtract;
    case opcode::multiply:
      return mode::multiply;
    case opcode::divide:
      return mode::divide;
    case opcode::minimum:
      return mode::minimum;
    case opcode::maximum:
      return mode::maximum;
    case opcode::negative:
      return mode::negative;
    case opcode::absolute:
      return mode::absolute;
    case opcode::exp:
      return mode::exp;
    case opcode::log:
      return mode::log;
    case opcode::sqrt:
      return mode::sqrt;
    case opcode::rsqrt:
      return mode::rsqrt;
    case opcode::erf:
      return mode::erf;
    case opcode::sin:
      return mode::sin;
    case opcode::cos:
      return mode::cos;
    case opcode::tanh:
      return mode::tanh;
    default:
      return std::nullopt;
  }
}

/// Stores extents and strides of the given rank, with leading extents of 1. Extents of 1 get the
/// strides of a dense tensor, because cuDNN deduces the layout from them.
void spread(const any_tensor& t, std::size_t rank, bool channels_last, graphs::tensor& made) {
  const std::size_t missing = rank - static_cast<std::size_t>(t.rank());
  made.extents.assign(missing, 1);
  made.strides.assign(missing, 1);
  made.extents.insert(made.extents.end(), t.extents().begin(), t.extents().end());
  made.strides.insert(made.strides.end(), t.strides().begin(), t.strides().end());
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  std::int64_t step = 1;
  for (std::size_t i = rank; i-- > 0;) {
    if (made.extents[order[i]] == 1) made.strides[order[i]] = step;
    step = std::max(step, made.strides[order[i]] * made.extents[order[i]]);
  }
}

}  // namespace

std::optional<graph_case> graph_case::of(const dnn::graph& r) {
  graph_case made(r);
  made.entries_ = r.what.entries();
  made.results_ = r.what.results();
  auto forms = dnn::infer(r.what, made.entries_, r.inputs, r.intermediate);
  if (!forms) return std::nullopt;
  made.forms_ = *std::move(forms);
  if (!made.fits_one_plan()) return std::nullopt;
  return made;
}

any_tensor graph_case::view_of(std::size_t n) const {
  const entry& one = entries_[n];
  if (one.what == kind::input) return r_.inputs[static_cast<std::size_t>(one.numbers[0])];
  if (one.what != kind::transpose) return {};
  const any_tensor of = view_of(one.operands[0]);
  if (of.null()) return {};
  const std::vector<int> order(one.numbers.begin(), one.numbers.end());
  auto view = of.permute(order);
  return view ? *view : any_tensor();
}

bool graph_case::fits_one_plan() {
  std::optional<std::size_t> heavy;
  bool follows = false;
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    const entry& one = entries_[n];
    const bool is_heavy = one.what == kind::matmul || one.what == kind::convolution;
    if (is_heavy) {
      if (heavy) return false;
      heavy = n;
    }
    follows = follows || mode_of(one).has_value();
    if (one.what != kind::input && one.what != kind::constant && one.what != kind::transpose &&
        !is_heavy && !mode_of(one))
      return false;
  }
  if (!heavy || !follows) return false;
  heavy_ = *heavy;
  const entry& product = entries_[heavy_];
  const auto& extents = forms_[heavy_].extents;
  const auto type = dnn::factor_type(forms_[product.operands[0]], forms_[product.operands[1]]);
  if (type == dtype::f64) return false;
  if (std::ranges::any_of(extents, [](std::int64_t e) { return e == 0; })) return false;
  for (const std::uint16_t operand : product.operands) {
    const any_tensor t = view_of(operand);
    if (t.null() || t.empty() || t.type() != *type || !accepts(t)) return false;
  }
  if (product.what == kind::convolution && !accepts_convolution(product)) return false;
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    if (!mode_of(entries_[n])) continue;
    // Other nodes must be functions of the result, or of values that are broadcast to it.
    if (forms_[n].extents != extents || n < heavy_) return false;
    for (const std::uint16_t operand : entries_[n].operands) {
      const kind what = entries_[operand].what;
      if (what != kind::input && what != kind::transpose) continue;
      const any_tensor t = view_of(operand);
      const dtype of = t.type();
      if (t.null() || (of != dtype::f32 && of != dtype::f16 && of != dtype::bf16)) return false;
      if (!accepts(t)) return false;
    }
  }
  for (std::size_t o = 0; o < results_.size(); ++o) {
    const dtype of = r_.outputs[o].type();
    const bool made = results_[o] == heavy_ || mode_of(entries_[results_[o]]).has_value();
    if (!made || (of != dtype::f32 && of != dtype::f16 && of != dtype::bf16)) return false;
    if (std::ranges::count(results_, results_[o]) > 1 || !accepts(r_.outputs[o])) return false;
  }
  for (const scalar& one : r_.what.constants())
    numbers_.push_back(one.as<float>());
  return true;
}

bool graph_case::accepts_convolution(const entry& one) const {
  if (forms_[heavy_].extents.size() < 4) return false;
  const dnn::convolution_forward r = dnn::convolution_request(one);
  const any_tensor x = view_of(one.operands[0]);
  const any_tensor w = view_of(one.operands[1]);
  return limits::cudnn::accepts_padding(dnn::laid_out(r, {"x", x}, {"w", w}, {"y", x}));
}

bool graph_case::accepts(const any_tensor& t) const {
  return limits::cudnn::accepts_in_graph(t, entries_[heavy_].what == kind::convolution);
}

void graph_case::write(plan_words& key) const {
  key.clear();
  constexpr std::int64_t of_graphs = 0x67726170;  // distinct from the keys of other requests
  key.push_back(of_graphs << 32 | limits::cudnn::key_of_plans);
  key.push_back(static_cast<std::int64_t>(r_.tuning));
  const auto words = dnn::words_of(r_);
  key.insert(key.end(), words.begin(), words.end());
  for (const auto* const list : {&r_.inputs, &r_.outputs}) {
    for (const any_tensor& t : *list)
      key.push_back(alignment_of(t));
  }
}

std::vector<std::byte*> graph_case::operands() {
  std::vector<std::byte*> made;
  for (const auto* const list : {&r_.inputs, &r_.outputs}) {
    for (const any_tensor& t : *list)
      made.push_back(t.address());
  }
  for (float& one : numbers_)
    made.push_back(reinterpret_cast<std::byte*>(&one));
  return made;
}

std::vector<graphs::description> graph_case::graphs() const {
  graphs::description made;
  constexpr int candidates = 8;
  if (r_.tuning == dnn::tuning::timed) made.timed = candidates;
  made.full_precision = r_.math == dnn::math_mode::strict &&
                        view_of(entries_[heavy_].operands[0]).type() == dtype::f32;
  const bool convolves = entries_[heavy_].what == kind::convolution;
  const auto& whole = forms_[heavy_].extents;
  const std::size_t rank = std::max<std::size_t>(whole.size(), 3);
  const auto add = [&](graphs::tensor t) {
    made.tensors.push_back(std::move(t));
    return static_cast<place>(made.tensors.size()) - 1;
  };
  const auto tensor_of = [&](const any_tensor& t, std::size_t operand) {
    graphs::tensor one{.operand = static_cast<std::int64_t>(operand) + 1,
                       .type = t.type(),
                       .extents = {},
                       .strides = {},
                       .alignment = alignment_of(t)};
    spread(t, rank, convolves, one);
    return one;
  };
  std::vector<place> places(entries_.size(), -1);
  const auto place_of = [&](std::size_t n) {
    if (places[n] >= 0) return places[n];
    std::size_t base = n;
    while (entries_[base].what == kind::transpose)
      base = entries_[base].operands[0];
    const auto number = static_cast<std::size_t>(entries_[base].numbers[0]);
    if (entries_[base].what == kind::input) return places[n] = add(tensor_of(view_of(n), number));
    return places[n] = add(
               {.operand =
                    static_cast<std::int64_t>(r_.inputs.size() + r_.outputs.size() + number) + 1,
                .type = dtype::f32,
                .extents = numbers(rank, 1),
                .strides = numbers(rank, 1),
                .by_value = true});
  };
  // The result of a node: an output, or a value without memory in the layout of the first output.
  const auto result_of = [&](std::size_t n) {
    const auto output = std::ranges::find(results_, n);
    const auto o = static_cast<std::size_t>(output - results_.begin());
    if (output != results_.end())
      return places[n] = add(tensor_of(r_.outputs[o], r_.inputs.size() + o));
    graphs::tensor between = tensor_of(r_.outputs[0], 0);
    between.operand = 0;
    between.type = dtype::f32;
    between.alignment = well_aligned;
    return places[n] = add(std::move(between));
  };
  for (std::size_t n = heavy_; n < entries_.size(); ++n) {
    const entry& one = entries_[n];
    if (n == heavy_ && !convolves) {
      const place first = place_of(one.operands[0]);
      const place second = place_of(one.operands[1]);
      made.nodes.emplace_back(
          graphs::matmul{.first = first, .second = second, .result = result_of(n)});
    } else if (n == heavy_) {
      const dnn::convolution_forward r = dnn::convolution_request(one);
      const auto space = static_cast<std::ptrdiff_t>(whole.size()) - 2;
      const auto list = [&](const numbers& of, std::int64_t otherwise) {
        const auto all = dnn::numbers_of(of, otherwise);
        return numbers(all.begin(), all.begin() + space);
      };
      const place first = place_of(one.operands[0]);
      const place second = place_of(one.operands[1]);
      made.nodes.emplace_back(graphs::convolution{.what = graphs::convolution::kind::forward,
                                                  .first = first,
                                                  .second = second,
                                                  .result = result_of(n),
                                                  .before = list(r.padding, 0),
                                                  .after = list(r.padding, 0),
                                                  .stride = list(r.stride, 1),
                                                  .dilation = list(r.dilation, 1)});
    } else if (const auto what = mode_of(one)) {
      graphs::pointwise next{.what = *what, .first = place_of(one.operands[0])};
      if (one.operands.size() > 1) next.second = place_of(one.operands[1]);
      next.result = result_of(n);
      made.nodes.emplace_back(next);
    }
  }
  return {std::move(made)};
}

}  // namespace troupe::cuda
