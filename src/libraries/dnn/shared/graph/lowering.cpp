#include "libraries/dnn/shared/graph/lowering.hpp"

#include "libraries/dnn/shared/graph/clusters.hpp"
#include "libraries/dnn/shared/graph/products.hpp"
#include "libraries/dnn/shared/graph/tails.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace troupe::dnn {
namespace {

using elementwise::value;
using nodes::kind;

constexpr int address_bits = 48;
constexpr std::int64_t most_room = std::int64_t{1} << (address_bits - 1);

/// A function of elements that is being put together, and what it reads and writes.
struct light_step {
  std::vector<std::size_t> leaves;
  std::vector<std::size_t> roots;
  std::vector<std::int64_t> extents;
  std::optional<row_space> rows;
  int instructions = 0;
};
/// A place in the order of execution. Of a light step the requests are made in the end.
struct step {
  std::vector<piece> pieces;
  std::optional<light_step> light{};
};

/// A value in memory: the same in several types, and in outputs.
struct kept_value {
  std::vector<any_tensor> views;
  std::size_t step = 0;     ///< that writes it, counted from 1; 0 for an input
  std::size_t written = 0;  ///< of the views: the first ones, which a light step writes
};

const elementwise::function& same() {
  static const auto what =
      elementwise::function::of(1, [](std::span<const value> x) { return x[0]; });
  return what;
}

class lowering {
 public:
  lowering(const graph& r, clustering nodes)
      : r_(r),
        nodes_(std::move(nodes)),
        tails_(nodes_, r.what.constants()),
        kept_(nodes_.size()),
        wanted_(nodes_.size()) {}

  [[nodiscard]] result<lowered_graph> run() {
    take_outputs();
    ask_for_types();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const kind what = nodes_.entry(n).what;
      if (what == kind::input) keep_input(n);
      if (!nodes_.needed(n) || is_source(what) || !nodes_.is_root(n) || tails_.hides(n)) continue;
      if (what == kind::matmul) {
        if (auto done = multiply(n, nullptr); !done) return std::move(done).error();
      } else if (what == kind::convolution) {
        if (auto done = convolve(n, nullptr); !done) return std::move(done).error();
      } else if (auto done = compute(n); !done) {
        return std::move(done).error();
      }
    }
    store_sources();
    return finished();
  }

 private:
  // Memory. ---------------------------------------------------------------------------------------

  [[nodiscard]] any_tensor room_for(dtype type, std::span<const std::int64_t> extents) {
    const any_tensor made =
        symbolic(graph_memory::room, std::min(room_bytes_, most_room), type, shape(extents));
    constexpr std::int64_t unit = 256;
    room_bytes_ += (made.count() * size_of(type) + unit - 1) / unit * unit;
    return made;
  }
  [[nodiscard]] dtype kept_type(std::size_t n) const {
    const kind what = nodes_.entry(n).what;
    return what == kind::convolution ? factors_of(n) : nodes_.form(n).type;
  }
  [[nodiscard]] dtype factors_of(std::size_t n) const {
    const auto& operands = nodes_.entry(n).operands;
    return *factor_type(nodes_.form(operands[0]), nodes_.form(operands[1]));
  }
  [[nodiscard]] any_tensor viewed(std::size_t n, const any_tensor& base) const {
    return nodes_.entry(n).what == kind::transpose ? *base.permute(nodes_.order(n)) : base;
  }

  // An output is written as its node's base lies: with the dimensions in that order.
  void take_outputs() {
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
  [[nodiscard]] std::vector<any_tensor> targets_of(std::size_t n) const {
    std::vector<any_tensor> made;
    for (const auto& [node, view] : targets_) {
      if (node == n) made.push_back(view);
    }
    return made;
  }

  void ask_for(std::size_t n, dtype type) {
    auto& all = wanted_[nodes_.base(n)];
    if (std::ranges::find(all, type) == all.end()) all.push_back(type);
  }
  // In which types values are to be kept, for those who read them.
  void ask_for_types() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const kind what = nodes_.entry(n).what;
      if (!nodes_.needed(n) || !nodes_.is_root(n) || is_source(what)) continue;
      if (is_heavy(what)) {
        for (const std::uint16_t operand : nodes_.entry(n).operands)
          ask_for(operand, factors_of(n));
      } else {
        const tail* const follows = tails_.of(n);
        const std::vector<std::size_t> leaves =
            follows != nullptr ? follows->leaves() : nodes_.closure(n).leaves;
        for (const std::size_t leaf : leaves)
          ask_for(leaf, kept_type(nodes_.base(leaf)));
      }
    }
  }

  // What is written of a value: outputs, and room for each other type that is read.
  // The widest first: narrower ones are copies of it.
  [[nodiscard]] std::vector<any_tensor> places_for(std::size_t n) {
    std::vector<any_tensor> made = targets_of(n);
    for (const dtype type : wanted_[n]) {
      if (std::ranges::none_of(made, [&](const any_tensor& t) { return t.type() == type; }))
        made.push_back(room_for(type, nodes_.form(n).extents));
    }
    std::ranges::stable_sort(made, std::greater<>(), [](auto& t) { return size_of(t.type()); });
    return made;
  }

  void keep_input(std::size_t n) {
    const auto i = static_cast<std::size_t>(nodes_.entry(n).numbers[0]);
    const any_tensor& x = r_.inputs[i];
    kept_[n].views = {symbolic(i, 0, x.type(), shape(x.extents()), x.strides(), x.space())};
  }

  /// A value in that type; where it is in another one only, a copy.
  [[nodiscard]] any_tensor fetch(std::size_t n, dtype type) {
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

  [[nodiscard]] any_tensor packed(const any_tensor& t) {
    const any_tensor copy = room_for(t.type(), t.extents());
    add_copy(t, copy);
    return copy;
  }

  void add_copy(const any_tensor& from, const any_tensor& to) {
    steps_.emplace_back().pieces.emplace_back(
        elementwise::map{.inputs = {from}, .outputs = {to}, .what = same()});
  }

  // Heavy nodes. ----------------------------------------------------------------------------------

  /// Writes the values in all of its places, from the one that the library has written.
  void keep_result(std::size_t n, const any_tensor& made, std::vector<any_tensor> places) {
    kept_[n] = {.views = {made}, .step = steps_.size()};
    for (any_tensor& to : places) {
      if (to.same_view(made)) continue;
      add_copy(made, to);
      kept_[n].views.push_back(std::move(to));
    }
    kept_[n].step = steps_.size();
  }

  [[nodiscard]] static error not_in_one_pass() {
    return {.code = errc::unsupported, .message = "what follows is not done in the same pass"};
  }

  /// `follows`: the tail that the product is a part of, whose node `n` then is.
  [[nodiscard]] result<void> multiply(std::size_t n, const tail* follows) {
    const std::size_t product = follows != nullptr ? follows->heavy : n;
    const auto& operands = nodes_.entry(product).operands;
    const dtype type = factors_of(product);
    any_tensor a = fetch(operands[0], type);
    any_tensor b = fetch(operands[1], type);
    auto places = places_for(n);
    blaslt::matmul what;
    if (type == dtype::f32 && r_.math == math_mode::tf32) what.math = blas::math_mode::tf32;
    if (follows != nullptr) {
      if (places.size() != 1 || !follow(what, *follows, places[0])) return not_in_one_pass();
    }
    // What is stored otherwise than it was multiplied is rounded from f32, and only once.
    const bool as_it_is =
        size_of(type) > 2 ||
        std::ranges::all_of(places, [&](const any_tensor& t) { return t.type() == type; });
    const dtype made_in = as_it_is ? type : dtype::f32;
    if (a.extent(a.rank() - 1) == 0 && follows == nullptr) return sum_of_nothing(n, places);
    for (const any_tensor& to : places) {
      if (to.type() != made_in) continue;
      if (auto made = products_of(a, b, to, what)) {
        add_all(*std::move(made));
        keep_result(n, to, std::move(places));
        return {};
      }
    }
    if (follows != nullptr) return not_in_one_pass();
    // By packed operands to a packed result, which every library takes.
    std::vector<std::int64_t> batch(nodes_.form(product).extents.begin(),
                                    nodes_.form(product).extents.end() - 2);
    const any_tensor to = room_for(made_in, nodes_.form(product).extents);
    auto made = products_of(a, b, to, what);
    if (!made) {
      a = packed_batch(a, batch);
      b = packed_batch(b, batch);
      made = products_of(a, b, to, what);
    }
    if (!made) {
      return error{.code = errc::unsupported,
                   .message = fmt::format("no product of {} and {}", a.to_string(), b.to_string())};
    }
    add_all(*std::move(made));
    keep_result(n, to, std::move(places));
    return {};
  }

  [[nodiscard]] any_tensor packed_batch(const any_tensor& t, std::vector<std::int64_t> extents) {
    extents.push_back(t.extent(t.rank() - 2));
    extents.push_back(t.extent(t.rank() - 1));
    const any_tensor copy = room_for(t.type(), extents);
    add_copy(t, copy);
    return copy;
  }

  [[nodiscard]] result<void> sum_of_nothing(std::size_t n, std::vector<any_tensor> places) {
    static const auto zero =
        elementwise::function::of(0, [](std::span<const value>) { return value(0.0); });
    for (const any_tensor& to : places)
      steps_.emplace_back().pieces.emplace_back(
          elementwise::map{.inputs = {}, .outputs = {to}, .what = zero});
    kept_[n] = {.views = std::move(places), .step = steps_.size()};
    return {};
  }

  void add_all(std::vector<blaslt::matmul> all) {
    step& made = steps_.emplace_back();
    for (blaslt::matmul& one : all)
      made.pieces.emplace_back(std::move(one));
  }

  [[nodiscard]] result<void> convolve(std::size_t n, const tail* follows) {
    const std::size_t product = follows != nullptr ? follows->heavy : n;
    const auto& operands = nodes_.entry(product).operands;
    const dtype type = factors_of(product);
    convolution_forward what = convolution_request(nodes_.entry(product));
    if (type == dtype::f32) what.math = r_.math;
    what.x = fetch(operands[0], type);
    what.w = fetch(operands[1], type);
    auto places = places_for(n);
    if (follows != nullptr) {
      if (places.size() != 1 || places[0].type() != type || !follow(what, *follows, type))
        return not_in_one_pass();
    }
    for (const any_tensor& to : places) {
      if (to.type() != type) continue;
      what.y = to;
      if (validate(what)) {
        steps_.emplace_back().pieces.emplace_back(std::move(what));
        keep_result(n, to, std::move(places));
        return {};
      }
    }
    if (follows != nullptr) return not_in_one_pass();
    what.y = room_for(type, nodes_.form(n).extents);
    if (!validate(what)) {
      what.x = packed(what.x);
      what.w = packed(what.w);
    }
    if (auto valid = validate(what); !valid) return valid;
    const any_tensor to = what.y;
    steps_.emplace_back().pieces.emplace_back(std::move(what));
    keep_result(n, to, std::move(places));
    return {};
  }

  // What follows a product in the same pass.
  // -------------------------------------------------------

  [[nodiscard]] bool follow(blaslt::matmul& what, const tail& t, const any_tensor& to) {
    what.alpha = t.alpha;
    if (t.added) {
      what.c = fetch(*t.added, kept_type(nodes_.base(*t.added)));
      what.beta = 1;
      if (what.c.rank() != to.rank() || to.rank() > 3) return false;
    }
    if (t.bias) {
      const any_tensor bias = fetch(*t.bias, kept_type(nodes_.base(*t.bias)));
      const int last = bias.rank() - 1;
      const std::int64_t extents[] = {bias.extent(last)};
      const std::int64_t strides[] = {bias.stride(last)};
      what.bias =
          any_tensor::unowned(bias.address(), bias.type(), shape(extents), strides, bias.space());
    }
    const bool is_relu = t.applied == activation::relu;
    if (!is_relu && t.applied != activation::none && t.applied != activation::gelu_tanh)
      return false;
    using enum blaslt::epilogue;
    if (t.applied == activation::none) {
      what.epilogue = t.bias ? bias : none;
    } else if (is_relu) {
      what.epilogue = t.bias ? relu_bias : relu;
    } else {
      what.epilogue = t.bias ? gelu_bias : gelu;
    }
    return true;
  }

  [[nodiscard]] bool follow(convolution_forward& what, const tail& t, dtype type) {
    what.alpha = t.alpha;
    what.activation = t.applied;
    if (t.added) {
      what.z = fetch(*t.added, kept_type(nodes_.base(*t.added)));
      what.beta = 1;
      if (what.z.type() != type) return false;
    }
    if (t.bias) {
      const any_tensor bias = fetch(*t.bias, kept_type(nodes_.base(*t.bias)));
      if (bias.type() != type) return false;
      const int at = bias.rank() - (static_cast<int>(nodes_.form(t.heavy).extents.size()) - 1);
      const std::int64_t extents[] = {bias.extent(at)};
      const std::int64_t strides[] = {bias.stride(at)};
      what.bias =
          any_tensor::unowned(bias.address(), bias.type(), shape(extents), strides, bias.space());
    }
    return true;
  }

  // Light nodes.
  // -----------------------------------------------------------------------------------

  [[nodiscard]] result<void> compute(std::size_t n) {
    if (const tail* const follows = tails_.of(n)) {
      const auto room = room_bytes_;
      const auto steps = steps_.size();
      const auto kept = kept_;
      const bool product = nodes_.entry(follows->heavy).what == kind::matmul;
      if (product ? multiply(n, follows) : convolve(n, follows)) return {};
      // Not in one pass: the product first, then what follows it.
      room_bytes_ = room;
      steps_.resize(steps);
      kept_ = kept;
      const tail whole = *follows;
      tails_.drop(n);
      ask_for(whole.heavy, kept_type(whole.heavy));
      if (auto done = product ? multiply(whole.heavy, nullptr) : convolve(whole.heavy, nullptr);
          !done)
        return done;
    }
    auto places = places_for(n);
    if (!joins(n)) {
      const cluster own = nodes_.closure(n);
      steps_.emplace_back().light =
          light_step{.leaves = own.leaves,
                     .roots = {n},
                     .extents = own.rows ? own.rows->extents : nodes_.form(n).extents,
                     .rows = own.rows,
                     .instructions = own.instructions};
      kept_[n].step = steps_.size();
    }
    // One output more than a function may have is a copy.
    constexpr std::size_t most = elementwise::function::most_outputs;
    kept_[n].written = std::min(places.size(), most);
    kept_[n].views = std::move(places);
    for (std::size_t i = most; i < kept_[n].views.size(); ++i)
      add_copy(kept_[n].views[0], kept_[n].views[i]);
    return {};
  }

  /// Computes a node together with an earlier one, in one pass over the same elements.
  [[nodiscard]] bool joins(std::size_t n) {
    for (std::size_t s = steps_.size(); s-- > 0;) {
      if (!steps_[s].light) continue;
      light_step& with = *steps_[s].light;
      const cluster own = nodes_.closure(n, with.roots);
      const bool ready = std::ranges::all_of(
          own.leaves, [&](std::size_t leaf) { return kept_[nodes_.base(leaf)].step < s + 1; });
      if (!ready || !own.one_space) continue;
      const auto& form = nodes_.form(n).extents;
      if (own.rows && form != own.rows->extents && !clustering::is_of_rows(form, *own.rows))
        continue;
      const auto& extents = own.rows ? own.rows->extents : form;
      const bool same_rows = !own.rows || !with.rows || *own.rows == *with.rows;
      const bool same_space = extents == with.extents ||
                              (with.rows && !own.rows && clustering::is_of_rows(form, *with.rows));
      if (!same_rows || !same_space) continue;
      std::vector<std::size_t> leaves = with.leaves;
      for (const std::size_t leaf : own.leaves) {
        if (std::ranges::find(leaves, leaf) == leaves.end()) leaves.push_back(leaf);
      }
      const int instructions = with.instructions + own.instructions;
      std::size_t outputs = places_count(n);
      for (const std::size_t root : with.roots)
        outputs += kept_[root].written;
      if (leaves.size() > static_cast<std::size_t>(elementwise::function::most_inputs) ||
          outputs > static_cast<std::size_t>(elementwise::function::most_outputs) ||
          instructions > clustering::most_instructions)
        continue;
      with.leaves = std::move(leaves);
      with.instructions = instructions;
      if (own.rows) with.rows = own.rows;
      with.roots.push_back(n);
      kept_[n].step = s + 1;
      return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t places_count(std::size_t n) const {
    return targets_of(n).size() + wanted_[n].size();
  }

  // Outputs that are inputs, or constants.
  void store_sources() {
    for (const auto& [n, view] : targets_) {
      const nodes::entry& one = nodes_.entry(n);
      if (one.what == kind::input) add_copy(kept_[n].views.front(), view);
      if (one.what == kind::constant) {
        const std::size_t roots[] = {n};
        steps_.emplace_back().pieces.emplace_back(
            elementwise::map{.inputs = {},
                             .outputs = {view},
                             .what = function_of(nodes_, r_.what.constants(), {}, roots)});
      }
    }
  }

  [[nodiscard]] piece request_of(const light_step& one) {
    std::vector<any_tensor> inputs;
    std::vector<any_tensor> outputs;
    std::vector<std::size_t> roots;
    for (const std::size_t leaf : one.leaves)
      inputs.push_back(fetch(leaf, kept_type(nodes_.base(leaf))));
    for (const std::size_t n : one.roots) {
      for (std::size_t i = 0; i < kept_[n].written; ++i) {
        outputs.push_back(kept_[n].views[i]);
        roots.push_back(n);
      }
    }
    auto what = function_of(nodes_, r_.what.constants(), one.leaves, roots);
    if (!one.rows) {
      return elementwise::map{
          .inputs = std::move(inputs), .outputs = std::move(outputs), .what = std::move(what)};
    }
    return elementwise::rows{.inputs = std::move(inputs),
                             .outputs = std::move(outputs),
                             .what = std::move(what),
                             .axes = one.rows->axes};
  }

  [[nodiscard]] result<lowered_graph> finished() {
    if (room_bytes_ > most_room) {
      return error{.code = errc::out_of_memory,
                   .message = fmt::format("{} bytes are needed between the nodes of {}",
                                          room_bytes_, r_.what.to_string())};
    }
    lowered_graph made{.pieces = {}, .room_bytes = room_bytes_, .by = {}};
    for (step& one : steps_) {
      if (one.light) one.pieces.push_back(request_of(*one.light));
      for (piece& each : one.pieces) {
        if (auto valid = std::visit([](auto& what) { return validate(what); }, each); !valid)
          return std::move(valid).error();
        made.by += made.pieces.empty() ? "" : ", ";
        made.by += std::visit([](auto& what) { return what.name; }, each);
        made.pieces.push_back(std::move(each));
      }
    }
    return made;
  }

  const graph& r_;
  clustering nodes_;
  tails tails_;
  std::vector<kept_value> kept_;                             // by node
  std::vector<std::vector<dtype>> wanted_;                   // by node
  std::vector<std::pair<std::size_t, any_tensor>> targets_;  // outputs, by the node that they take
  std::vector<step> steps_;
  std::int64_t room_bytes_ = 0;
};

}  // namespace

any_tensor symbolic(std::size_t memory, std::int64_t bytes, dtype type, const shape& extents,
                    std::span<const std::int64_t> strides, memory_space space) noexcept {
  // Never null, which stands for no tensor.
  const auto address = (memory + 1) << address_bits | static_cast<std::uint64_t>(bytes);
  return any_tensor::unowned(reinterpret_cast<std::byte*>(address), type, extents, strides, space);
}

namespace {

void place(any_tensor& t, const graph_memory& memory) {
  if (t.null()) return;
  const auto address = reinterpret_cast<std::uintptr_t>(t.address());
  std::byte* const first = memory.first[(address >> address_bits) - 1];
  const auto bytes = address & ((std::uintptr_t{1} << address_bits) - 1);
  t = any_tensor::unowned(first + bytes, t.type(), shape(t.extents()), t.strides(), t.space());
}
void place_all(blaslt::matmul& one, const graph_memory& memory) {
  for (any_tensor* const t : {&one.a, &one.b, &one.c, &one.d, &one.bias})
    place(*t, memory);
}
void place_all(convolution_forward& one, const graph_memory& memory) {
  for (any_tensor* const t : {&one.x, &one.w, &one.y, &one.z, &one.bias})
    place(*t, memory);
}
template <class Function>
void place_all(Function& one, const graph_memory& memory) {
  for (auto* const list : {&one.inputs, &one.outputs}) {
    for (any_tensor& t : *list)
      place(t, memory);
  }
}

}  // namespace

piece placed(piece one, const graph_memory& memory) {
  std::visit([&](auto& what) { place_all(what, memory); }, one);
  return one;
}

result<lowered_graph> lower(const graph& r) {
  auto entries = r.what.entries();
  auto forms = infer(r.what, entries, r.inputs, r.intermediate);
  if (!forms) return std::move(forms).error();
  try {
    return lowering(r, clustering(std::move(entries), *std::move(forms), r.what.results())).run();
  } catch (const failure& why) {
    return why.error();
  }
}

}  // namespace troupe::dnn
