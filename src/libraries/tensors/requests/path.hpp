#pragma once

#include "libraries/tensors/requests/notation.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace troupe::tensors {

/// The order in which tensors are contracted, two at a time.
struct contraction_path {
  /// Numbers of tensors: first the operands, then the result of each step.
  struct step {
    std::size_t left;
    std::size_t right;
    mode_set made;  ///< modes of the step's result: those that others or the final result have
  };
  std::vector<step> steps;  ///< one fewer than there are operands

  /// The bound for an intermediate tensor. Operands that repeat few elements can require more bytes
  /// than can be counted.
  static constexpr double most_elements = 0x1p48;

  /// The cheapest order, by operations and by the elements that are read and written: the best of
  /// all orders for up to eight operands, otherwise step by step. Nothing if some tensor would have
  /// more than `max_rank` modes with more than one index, or `most_elements`; or the two tensors of
  /// a step together, if they are of integers, whose products are reductions.
  [[nodiscard]] static std::optional<contraction_path> of(const equation& e,
                                                          const mode_extents& extents, dtype type);
};

}  // namespace troupe::tensors
