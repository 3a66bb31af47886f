#pragma once

#include "conformance/scene.hpp"

#include <troupe/dnn/graph.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Computations node by node, by naive loops in f64, from the definition alone.
namespace troupe::conformance::graph_reference {

using numbers = std::vector<std::int64_t>;

/// A number and how far a result may be from it.
struct uncertain {
  double value = 0;
  double off = 0;
};

/// A node's elements, in row-major order.
struct tensor_value {
  numbers extents{};
  std::vector<uncertain> elements{};
  bool twice = false;  ///< computed in f64
  bool constant = false;
  bool settled = false;  ///< its type is fixed: an input, or a cast
  dtype type{};          ///< that type
};

/// The outputs; nothing where a value is too large to be compared.
[[nodiscard]] std::optional<std::vector<tensor_value>> run(const dnn::computation& what,
                                                           std::span<test_tensor* const> inputs,
                                                           dtype intermediate);

/// Runs the request and compares every output. False where something is wrong.
bool check(scene& s, const dnn::computation& what, const std::vector<test_tensor*>& inputs,
           const std::vector<test_tensor*>& outputs, dnn::graph options = {});

/// A tensor of these extents in a layout that is drawn: packed, with gaps, or with its last two
/// dimensions the other way round.
[[nodiscard]] test_tensor& drawn_tensor(scene& s, dtype type, const numbers& extents);

}  // namespace troupe::conformance::graph_reference
