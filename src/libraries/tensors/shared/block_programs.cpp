#include "libraries/tensors/requests/blocks.hpp"
#include "libraries/tensors/shared/programs.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace troupe::tensors {
namespace {

any_tensor layout_of(const stored_block& block, dtype type) {
  return any_tensor::unowned(nullptr, type, block.extents);
}

/// The target of a block. The old content of d is kept unless this is the first of its sums.
target target_of(planner& p, const contract_blocks& r, const std::string& modes,
                 const stored_block& d, bool first) {
  const any_tensor layout = layout_of(d, r.d.type());
  target to{.d = p.operand(3, layout, modes, d.first), .alpha = r.alpha};
  if (first && r.beta.is_zero()) return to;
  to.in_place = !first || r.c.same_view(r.d);
  to.c = to.in_place ? to.d : p.operand(2, layout, modes, d.first);
  to.beta = first ? r.beta : scalar(1);
  return to;
}

/// A block of d to which nothing is added.
program scaled_block(const contract_blocks& r, const block_contraction& what, const stored_block& d,
                     const machine& m) {
  const any_tensor layout = layout_of(d, r.d.type());
  const std::array tensors{&layout};
  const equation alone{.operands = {what.modes.result}, .result = what.modes.result};
  const mode_extents extents =
      mode_extents::of(alone, tensors, std::array{std::string("d")}).value();
  planner p(m, extents);
  p.scale(target_of(p, r, what.modes.result, d, true));
  return std::move(p).finish();
}

/// The product of two blocks, added to one of d.
program product_of_blocks(const contract_blocks& r, const block_contraction& what,
                          const stored_block& d, block_contraction::pair of, bool first,
                          const machine& m) {
  const stored_block& a = what.a.all[of.a];
  const stored_block& b = what.b.all[of.b];
  const any_tensor left = layout_of(a, r.a.type());
  const any_tensor right = layout_of(b, r.b.type());
  const std::array tensors{&left, &right};
  const std::array names{std::string("a"), std::string("b")};
  const mode_extents extents = mode_extents::of(what.modes, tensors, names).value();
  planner p(m, extents);
  const target to = target_of(p, r, what.modes.result, d, first);
  p.contract(p.operand(0, left, what.modes.operands[0], a.first),
             p.operand(1, right, what.modes.operands[1], b.first), to);
  return std::move(p).finish();
}

/// Steps that come after those of `to`, and use the workspace again.
void append(program& to, program more) {
  const std::size_t before = to.places.size();
  for (step& one : more.steps) {
    for (std::size_t& input : one.inputs)
      input += before;
    one.output += before;
    to.steps.push_back(std::move(one));
  }
  std::ranges::move(more.places, std::back_inserter(to.places));
  to.workspace_bytes = std::max(to.workspace_bytes, more.workspace_bytes);
}

}  // namespace

program program_of(const contract_blocks& r, const machine& m) {
  // To plan a block with a library takes longer than the library saves.
  machine products = m;
  products.library = library_use::never;
  const block_contraction what = block_contraction::of(r).value();
  program whole;
  for (std::size_t i = 0; i < what.d.all.size(); ++i) {
    const std::vector<block_contraction::pair>& pairs = what.products[i];
    if (pairs.empty() || r.alpha.is_zero()) {
      append(whole, scaled_block(r, what, what.d.all[i], products));
      continue;
    }
    for (const auto& pair : pairs) {
      const bool first = &pair == &pairs.front();
      append(whole, product_of_blocks(r, what, what.d.all[i], pair, first, products));
    }
  }
  return whole;
}

}  // namespace troupe::tensors
