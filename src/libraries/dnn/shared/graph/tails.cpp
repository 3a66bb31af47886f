#include "libraries/dnn/shared/graph/tails.hpp"

#include <algorithm>
#include <utility>

namespace troupe::dnn {
namespace {

using elementwise::opcode;
using nodes::kind;

/// Looks for a tail from its end.
class search {
 public:
  search(const clustering& graph, std::span<const scalar> constants, std::size_t end)
      : graph_(graph), constants_(constants), end_(end) {}

  [[nodiscard]] std::optional<tail> run() {
    std::size_t next = end_;
    const nodes::entry& last = graph_.entry(end_);
    if (last.what == kind::activation) {
      made_.applied = static_cast<activation>(last.detail);
      next = last.operands[0];
    } else if (is(end_, opcode::tanh)) {
      made_.applied = activation::tanh;
      next = last.operands[0];
    }
    if (next != end_ && !only_here(next)) return std::nullopt;
    if (!follow(next)) return std::nullopt;
    return made_;
  }

 private:
  [[nodiscard]] bool is(std::size_t n, opcode op) const {
    return graph_.entry(n).what == kind::pointwise &&
           static_cast<opcode>(graph_.entry(n).detail) == op;
  }
  [[nodiscard]] bool is_heavy_here(std::size_t n) const {
    return is_heavy(graph_.entry(n).what) && graph_.uses(n) == 1;
  }
  // It has no other use, and the result's extents.
  [[nodiscard]] bool only_here(std::size_t n) const {
    const bool inner = is_light(graph_.entry(n).what) && !graph_.is_root(n);
    return (inner || is_heavy_here(n)) && graph_.uses(n) == 1 &&
           graph_.form(n).extents == graph_.form(end_).extents;
  }

  [[nodiscard]] bool follow(std::size_t n) {
    if (is_heavy_here(n)) {
      made_.heavy = n;
      return bias_fits();
    }
    const auto& operands = graph_.entry(n).operands;
    for (std::size_t k = 0; k < 2 && operands.size() == 2; ++k) {
      const std::size_t inner = operands[k];
      const std::size_t other = operands[1 - k];
      if (!only_here(inner)) continue;
      const tail before = made_;
      if (is(n, opcode::add) && takes(other) && follow(inner)) return true;
      if (is(n, opcode::multiply) && graph_.entry(other).what == kind::constant &&
          is_heavy_here(inner)) {
        made_.alpha = constants_[static_cast<std::size_t>(graph_.entry(other).numbers[0])];
        if (follow(inner)) return true;
      }
      made_ = before;
    }
    return false;
  }

  [[nodiscard]] bool takes(std::size_t n) {
    const kind what = graph_.entry(n).what;
    const bool in_memory = what == kind::input || what == kind::transpose || graph_.is_root(n);
    if (!in_memory || what == kind::constant) return false;
    if (graph_.form(n).extents == graph_.form(end_).extents) {
      if (made_.added) return false;
      made_.added = n;
      return true;
    }
    if (made_.bias) return false;
    made_.bias = n;
    return true;
  }

  // Only one dimension of it may be more than 1: the last one, or that of the channels.
  [[nodiscard]] bool bias_fits() const {
    if (!made_.bias) return true;
    const auto& extents = graph_.form(*made_.bias).extents;
    const auto& whole = graph_.form(end_).extents;
    const bool product = graph_.entry(made_.heavy).what == kind::matmul;
    const std::size_t along = product ? whole.size() - 1 : 1;
    const std::size_t missing = whole.size() - extents.size();
    if (missing > along) return false;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (extents[d] != (d + missing == along ? whole[along] : 1)) return false;
    }
    return true;
  }

  const clustering& graph_;
  std::span<const scalar> constants_;
  std::size_t end_;
  tail made_;
};

}  // namespace

std::vector<std::size_t> tail::leaves() const {
  std::vector<std::size_t> made;
  if (added) made.push_back(*added);
  if (bias) made.push_back(*bias);
  return made;
}

tails::tails(const clustering& graph, std::span<const scalar> constants, bool of_products)
    : all_(graph.size()) {
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (!graph.needed(n) || !is_light(graph.entry(n).what) || !graph.is_root(n)) continue;
    auto found = search(graph, constants, n).run();
    const bool separate = found && !of_products && graph.entry(found->heavy).what == kind::matmul;
    if (separate && (found->applied != activation::none || found->leaves().empty())) continue;
    all_[n] = std::move(found);
  }
}

bool tails::hides(std::size_t n) const {
  return std::ranges::any_of(all_, [&](const auto& one) { return one && one->heavy == n; });
}

}  // namespace troupe::dnn
