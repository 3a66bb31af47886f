#include "libraries/tensors/requests/path.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace troupe::tensors {
namespace {

constexpr std::size_t most_of_all_orders = 8;
// An element that is read or written takes as long as this many products.
constexpr double products_of_an_element = 8;
constexpr double never = std::numeric_limits<double>::infinity();

/// The cost of a step, from the modes of its operands and its result.
class step_costs {
 public:
  step_costs(const mode_extents& extents, dtype type) noexcept
      : extents_(extents), reduces_(is_integer(type)) {}

  [[nodiscard]] double operator()(mode_set left, mode_set right, mode_set made) const noexcept {
    if (std::popcount(reduces_ ? left | right : made) > max_rank ||
        count(made) > contraction_path::most_elements) {
      return never;
    }
    return count(left | right) +
           products_of_an_element * (count(left) + count(right) + count(made));
  }
  [[nodiscard]] double count(mode_set modes) const noexcept { return extents_.count(modes); }

 private:
  const mode_extents& extents_;
  bool reduces_;
};

/// Every order, by subsets. Source: R. Pfeifer, J. Haegeman, F. Verstraete, "Faster identification
/// of optimal contraction sequences for tensor networks", 2014.
class every_order {
 public:
  every_order(std::span<const mode_set> operands, mode_set result, const step_costs& cost)
      : operands_(operands), best_(std::size_t{1} << operands.size()) {
    const std::size_t all = best_.size() - 1;
    for (std::size_t s = 1; s <= all; ++s) {
      mode_set inside = 0;
      mode_set outside = result;
      for (std::size_t i = 0; i < operands.size(); ++i)
        ((s >> i & 1) != 0 ? inside : outside) |= operands[i];
      best_[s].modes = inside & outside;
      if (!std::has_single_bit(s)) best_[s].cost = never;
      // Each pair of parts once: the left one has the last operand.
      const std::size_t last = std::bit_floor(s);
      for (std::size_t part = (s - 1) & s; part >= last && part != 0; part = (part - 1) & s)
        consider(s, part, cost);
    }
  }

  [[nodiscard]] bool exists() const noexcept { return best_.back().cost < never; }
  /// Adds the steps for a subset; answers the number of the tensor that they make.
  std::size_t add_steps(std::size_t s, std::vector<contraction_path::step>& steps) const {
    if (std::has_single_bit(s)) return static_cast<std::size_t>(std::countr_zero(s));
    const std::size_t left = add_steps(best_[s].left, steps);
    const std::size_t right = add_steps(s ^ best_[s].left, steps);
    steps.push_back({left, right, best_[s].modes});
    return operands_.size() + steps.size() - 1;
  }

 private:
  struct subset {
    mode_set modes = 0;
    double cost = 0;
    std::size_t left = 0;
  };

  void consider(std::size_t s, std::size_t part, const step_costs& cost_of) {
    const subset& left = best_[part];
    const subset& right = best_[s ^ part];
    const double parts = left.cost + right.cost;
    if (parts >= best_[s].cost) return;
    const double cost = parts + cost_of(left.modes, right.modes, best_[s].modes);
    if (cost >= best_[s].cost) return;
    best_[s].cost = cost;
    best_[s].left = part;
  }

  std::span<const mode_set> operands_;
  std::vector<subset> best_;
};

/// One step after the other, each the one that leaves least. Source: D. Smith, J. Gray,
/// "opt_einsum", 2018: the greedy strategy.
std::optional<contraction_path> step_by_step(std::span<const mode_set> operands, mode_set result,
                                             const step_costs& cost_of) {
  struct tensor {
    std::size_t number;
    mode_set modes;
  };
  std::vector<tensor> left;
  left.reserve(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i)
    left.push_back({i, operands[i]});
  contraction_path path;
  while (left.size() > 1) {
    double least = never;
    double least_cost = never;
    std::pair<std::size_t, std::size_t> chosen;
    mode_set made = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      for (std::size_t j = i + 1; j < left.size(); ++j) {
        mode_set others = result;
        for (std::size_t k = 0; k < left.size(); ++k) {
          if (k != i && k != j) others |= left[k].modes;
        }
        const mode_set kept = (left[i].modes | left[j].modes) & others;
        const double cost = cost_of(left[i].modes, left[j].modes, kept);
        const double growth =
            cost_of.count(kept) - cost_of.count(left[i].modes) - cost_of.count(left[j].modes);
        if (cost == never || growth > least || (growth == least && cost >= least_cost)) continue;
        least = growth;
        least_cost = cost;
        chosen = {i, j};
        made = kept;
      }
    }
    if (least_cost == never) return std::nullopt;
    const auto [i, j] = chosen;
    path.steps.push_back({left[i].number, left[j].number, made});
    left[i] = {operands.size() + path.steps.size() - 1, made};
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(j));
  }
  return path;
}

}  // namespace

std::optional<contraction_path> contraction_path::of(const equation& e, const mode_extents& extents,
                                                     dtype type) {
  mode_set repeats = 0;  // modes with more than one index
  for (int n = 0; n < most_modes; ++n) {
    if (extents[letter_of(n)] != 1) repeats |= mode_set{1} << n;
  }
  const mode_set result = set_of(e.result) & repeats;
  std::vector<mode_set> operands;
  operands.reserve(e.operands.size());
  for (const std::string& one : e.operands)
    operands.push_back(set_of(one) & repeats);
  // Modes that only one operand has, and not the result, are summed first.
  std::vector<mode_set> summed = operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    mode_set others = result;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (k != i) others |= operands[k];
    }
    summed[i] &= others;
  }
  const step_costs costs(extents, type);
  if (operands.size() > most_of_all_orders) return step_by_step(summed, result, costs);
  const every_order orders(summed, result, costs);
  if (!orders.exists()) return std::nullopt;
  contraction_path path;
  orders.add_steps((std::size_t{1} << operands.size()) - 1, path.steps);
  return path;
}

}  // namespace troupe::tensors
