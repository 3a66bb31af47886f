#pragma once

#include "libraries/tensors/requests/notation.hpp"

#include <troupe/tensors/contract_blocks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::tensors {

/// A stored block of a tensor.
struct stored_block {
  std::vector<std::int64_t> sections;  ///< for each mode
  shape extents;
  std::int64_t first = 0;  ///< element of the tensor
};

/// The stored blocks of one tensor.
struct stored_blocks {
  std::vector<stored_block> all;
  std::int64_t elements = 0;
};

/// The contraction of a request.
struct block_contraction {
  /// Blocks of a and b, by their numbers.
  struct pair {
    std::size_t a, b;
  };

  equation modes;
  stored_blocks a, b, d;
  std::vector<std::vector<pair>> products;  ///< that are summed, for each block of d

  /// The most pairs of blocks that agree in the modes which a and b share.
  static constexpr std::size_t most_products = 65'536;

  /// \errors see `contract_blocks`; tensors are not looked at
  [[nodiscard]] static result<block_contraction> of(const contract_blocks& r);
};

}  // namespace troupe::tensors
