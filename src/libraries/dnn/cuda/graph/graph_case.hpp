#pragma once

#include "libraries/dnn/cuda/plan/graph_description.hpp"
#include "libraries/dnn/cuda/plan/plan_service.hpp"
#include "libraries/dnn/requests/graph/inference.hpp"

#include <troupe/dnn/graph.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace troupe::cuda {

/// A graph that one cuDNN plan may compute: a product or convolution of inputs, and functions of
/// the elements of its result.
class graph_case {
 public:
  /// Returns nothing for other graphs. The request must outlive it.
  [[nodiscard]] static std::optional<graph_case> of(const dnn::graph& r);

  /// Appends everything that selects the plan.
  void write(plan_words& key) const;
  [[nodiscard]] std::vector<graphs::description> graphs() const;
  /// The addresses of inputs, outputs and numbers, in the plan's order.
  [[nodiscard]] std::vector<std::byte*> operands();

 private:
  explicit graph_case(const dnn::graph& r) : r_(r) {}

  /// Decides whether one plan computes it, and finds the product or convolution and the numbers.
  [[nodiscard]] bool fits_one_plan();
  [[nodiscard]] bool accepts_convolution(const dnn::nodes::entry& one) const;
  [[nodiscard]] bool accepts(const any_tensor& t) const;
  /// The view of an input that a node stands for: the input itself or its transpose. Null for other
  /// nodes.
  [[nodiscard]] any_tensor view_of(std::size_t n) const;

  const dnn::graph& r_;
  std::vector<dnn::nodes::entry> entries_;
  std::vector<dnn::node_form> forms_;
  std::vector<std::uint16_t> results_;
  std::size_t heavy_ = 0;
  std::vector<float> numbers_;  // constants, as plans read them
};

}  // namespace troupe::cuda
