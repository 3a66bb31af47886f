#include "libraries/dnn/shared/graph/lowering.hpp"

#include "libraries/dnn/shared/graph/graph_values.hpp"
#include "libraries/dnn/shared/graph/products.hpp"
#include "libraries/dnn/shared/graph/tails.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe::dnn {
namespace {

using elementwise::value;
using nodes::kind;

class lowering : graph_values {
 public:
  lowering(const graph& r, clustering nodes, products by)
      : graph_values(r, std::move(nodes)),
        by_(by),
        tails_(nodes_, r.what.constants(), by == products::with_epilogues) {}

  [[nodiscard]] result<lowered_graph> run() {
    auto divided = divide();
    if (!has_room()) {
      return error{.code = errc::out_of_memory,
                   .message = fmt::format("{} bytes are needed between the nodes of {}",
                                          room_bytes_, r_.what.to_string())};
    }
    if (!divided) return std::move(divided).error();
    return finished();
  }

 private:
  [[nodiscard]] result<void> divide() {
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
    return {};
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

  // Heavy nodes. ----------------------------------------------------------------------------------

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
    // A value stored in another type than its factors' is rounded from f32, and only once.
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
    for (blaslt::matmul& one : all) {
      if (by_ == products::with_epilogues) {
        made.pieces.emplace_back(std::move(one));
      } else if (!one.c.null() || !one.bias.null()) {
        made.pieces.emplace_back(std::move(one));
      } else if (one.d.rank() == 2) {
        made.pieces.emplace_back(blas::gemm{.a = one.a, .b = one.b, .c = one.d, .math = one.math});
      } else {
        made.pieces.emplace_back(
            blas::gemm_strided_batched{.a = one.a, .b = one.b, .c = one.d, .math = one.math});
      }
    }
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

  // The epilogue of a product, in the same pass. -------------------------------------------------

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
    // That of cuBLASLt has nine digits.
    if (t.applied == activation::gelu_tanh && to.type() == dtype::f64) return false;
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
      // Not possible in one pass: the product first, then the rest.
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
    inputs.reserve(one.leaves.size());
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
    lowered_graph made{.pieces = {}, .room_bytes = room_bytes_, .by = {}};
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      made.heavy += nodes_.needed(n) && is_heavy(nodes_.entry(n).what) ? 1U : 0U;
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

  products by_;
  tails tails_;
};

}  // namespace

result<lowered_graph> lower(const graph& r, products by) {
  auto entries = r.what.entries();
  auto forms = infer(r.what, entries, r.inputs, r.intermediate);
  if (!forms) return std::move(forms).error();
  try {
    clustering nodes(std::move(entries), *std::move(forms), r.what.results());
    if (by == products::plain) nodes.keep_sums();
    return lowering(r, std::move(nodes), by).run();
  } catch (const failure& why) {
    return why.error();
  }
}

}  // namespace troupe::dnn
