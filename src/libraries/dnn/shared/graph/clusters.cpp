#include "libraries/dnn/shared/graph/clusters.hpp"

#include <algorithm>
#include <utility>

namespace troupe::dnn {

using nodes::kind;

clustering::clustering(std::vector<nodes::entry> entries, std::vector<node_form> forms,
                       std::vector<std::uint16_t> results)
    : entries_(std::move(entries)),
      forms_(std::move(forms)),
      results_(std::move(results)),
      uses_(entries_.size(), 0),
      root_(entries_.size(), false) {
  for (const std::uint16_t n : results_)
    ++uses_[n];
  for (std::size_t n = entries_.size(); n-- > 0;) {
    if (uses_[n] == 0) continue;
    for (const std::uint16_t operand : entries_[n].operands)
      ++uses_[operand];
  }
  divide();
}

std::size_t clustering::base(std::size_t n) const {
  while (entries_[n].what == kind::transpose)
    n = entries_[n].operands[0];
  return n;
}

std::vector<int> clustering::order(std::size_t n) const {
  std::vector<int> made;
  for (std::size_t d = 0; d < forms_[n].extents.size(); ++d) {
    auto at = static_cast<std::int64_t>(d);
    for (std::size_t one = n; entries_[one].what == kind::transpose;
         one = entries_[one].operands[0])
      at = entries_[one].numbers[static_cast<std::size_t>(at)];
    made.push_back(static_cast<int>(at));
  }
  return made;
}

std::optional<row_space> clustering::rows_of(std::size_t n) const {
  const nodes::entry& one = entries_[n];
  if (one.what != kind::reduction && one.what != kind::layer_norm && one.what != kind::rms_norm)
    return std::nullopt;
  const auto& extents = forms_[one.operands[0]].extents;
  return row_space{extents, axes_of(one, static_cast<int>(extents.size()))};
}

bool clustering::is_of_rows(const std::vector<std::int64_t>& extents, const row_space& rows) {
  if (extents.size() != rows.extents.size()) return false;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const bool along =
        std::ranges::find(rows.axes, static_cast<std::int64_t>(d)) != rows.axes.end();
    if (extents[d] != (along ? 1 : rows.extents[d])) return false;
  }
  return true;
}

void clustering::divide() {
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    if (uses_[n] == 0) continue;
    const kind what = entries_[n].what;
    if (is_heavy(what) || what == kind::transpose) {
      for (const std::uint16_t operand : entries_[n].operands)
        root_[base(operand)] = true;
    }
    if (is_heavy(what)) root_[n] = true;
    if (is_light(what)) settle(n);
  }
  for (const std::uint16_t n : results_)
    root_[base(n)] = true;
}

bool clustering::is_row_of(std::size_t n, std::size_t of) const {
  const auto& extents = forms_[n].extents;
  const auto& whole = forms_[of].extents;
  if (extents.empty() || extents.size() > whole.size() || extents.back() != whole.back())
    return false;
  return std::all_of(extents.begin(), extents.end() - 1, [](std::int64_t e) { return e == 1; });
}

void clustering::keep_sums() {
  struct sum {
    bool of_product = false;
    bool row = false;
    bool matrix = false;
    bool goes_on = false;  // another sum takes it
  };
  std::vector<sum> sums(entries_.size());
  const auto is_in_memory = [&](std::size_t n) {
    return entries_[n].what != kind::constant && !is_inner(n);
  };
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    const nodes::entry& one = entries_[n];
    if (uses_[n] == 0) continue;
    if (one.what == kind::matmul) {
      const auto type = factor_type(forms_[one.operands[0]], forms_[one.operands[1]]);
      const bool of_reals = type == dtype::f32 || type == dtype::f64;
      sums[n].of_product = of_reals && forms_[n].type == *type && uses_[n] == 1;
    }
    const bool adds = one.what == kind::pointwise &&
                      static_cast<elementwise::opcode>(one.detail) == elementwise::opcode::add;
    for (std::size_t k = 0; adds && k < 2 && !sums[n].of_product; ++k) {
      const std::size_t inner = one.operands[k];
      const std::size_t other = one.operands[1 - k];
      sum made = sums[inner];
      const bool joins = made.of_product && uses_[inner] == 1 &&
                         (is_heavy(entries_[inner].what) || is_inner(inner)) &&
                         forms_[inner].extents == forms_[n].extents && is_in_memory(other);
      if (!joins) continue;
      const bool whole = forms_[other].extents == forms_[n].extents;
      bool& has_one = whole ? made.matrix : made.row;
      if (has_one || (!whole && !is_row_of(other, n))) continue;
      has_one = true;
      sums[n] = made;
      sums[inner].goes_on = true;
    }
  }
  for (std::size_t n = 0; n < entries_.size(); ++n)
    if (sums[n].of_product && !sums[n].goes_on) root_[n] = true;
}

// Operands that cannot be computed in one function with this node become roots.
void clustering::settle(std::size_t n) {
  const nodes::entry& one = entries_[n];
  const auto own = rows_of(n);
  std::optional<row_space> rows = own;
  for (const std::uint16_t operand : one.operands) {
    if (!is_inner(operand)) continue;
    const auto of_operand = closure(operand).rows;
    if (!of_operand) continue;
    const bool reaches = own.has_value() || forms_[n].extents == of_operand->extents ||
                         is_of_rows(forms_[n].extents, *of_operand);
    if (!reaches || (rows && *rows != *of_operand)) {
      root_[operand] = true;
    } else {
      rows = of_operand;
    }
  }
  const cluster made = closure(n);
  if (made.leaves.size() > static_cast<std::size_t>(elementwise::function::most_inputs) ||
      made.instructions > most_instructions) {
    for (const std::uint16_t operand : one.operands) {
      if (is_inner(operand)) root_[operand] = true;
    }
  }
}

cluster clustering::closure(std::size_t n, std::span<const std::size_t> within) const {
  cluster made;
  std::vector<bool> seen(entries_.size(), false);
  seen[n] = true;
  // At most: a norm takes 14 instructions, gelu_tanh 25 with its constants.
  constexpr int of_norm = 16;
  constexpr int of_activation = 26;
  constexpr int of_reduction = 3;
  std::vector<std::size_t> stack{n};
  while (!stack.empty()) {
    const std::size_t next = stack.back();
    stack.pop_back();
    const nodes::entry& one = entries_[next];
    switch (one.what) {
      case kind::layer_norm:
      case kind::rms_norm:
        made.instructions += of_norm;
        break;
      case kind::activation:
        made.instructions += of_activation;
        break;
      case kind::reduction:
        made.instructions += of_reduction;
        break;
      case kind::input:
      case kind::constant:
      case kind::pointwise:
      case kind::cast:
      case kind::matmul:
      case kind::convolution:
      case kind::transpose:
        ++made.instructions;
    }
    if (auto rows = rows_of(next)) {
      made.one_space = made.one_space && (!made.rows || *made.rows == *rows);
      made.rows = std::move(rows);
    }
    for (const std::uint16_t operand : one.operands) {
      if (seen[operand]) continue;
      seen[operand] = true;
      const bool computed =
          is_inner(operand) ||
          (is_light(entries_[operand].what) && std::ranges::find(within, operand) != within.end());
      if (computed) {
        stack.push_back(operand);
      } else {
        ++made.instructions;
        if (entries_[operand].what != kind::constant) made.leaves.push_back(operand);
      }
    }
  }
  std::ranges::sort(made.leaves);
  return made;
}

}  // namespace troupe::dnn
