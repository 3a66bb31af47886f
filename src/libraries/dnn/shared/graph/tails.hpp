#pragma once

#include "libraries/dnn/shared/graph/clusters.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::dnn {

/// The epilogue of a product or a convolution, if it can be computed before storing: applied(alpha
/// · heavy + added + bias).
struct tail {
  std::size_t heavy = 0;
  scalar alpha = 1;
  std::optional<std::size_t> added{};  ///< has the result's extents
  std::optional<std::size_t> bias{};   ///< along the last dimension, or the channels
  activation applied = activation::none;

  [[nodiscard]] std::vector<std::size_t> leaves() const;
};

/// The tails of a graph, by the node that each ends in.
class tails {
 public:
  /// `of_products`: also those of products, not of convolutions alone.
  tails(const clustering& graph, std::span<const scalar> constants, bool of_products);

  /// Null where a node ends none.
  [[nodiscard]] const tail* of(std::size_t n) const { return all_[n] ? &*all_[n] : nullptr; }
  /// True for a heavy node that only its tail uses.
  [[nodiscard]] bool hides(std::size_t n) const;
  void drop(std::size_t n) { all_[n].reset(); }

 private:
  std::vector<std::optional<tail>> all_;
};

}  // namespace troupe::dnn
