#pragma once

#include "libraries/dnn/shared/graph/clusters.hpp"
#include "libraries/dnn/shared/graph/lowering.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// The placement of a graph's values while it is divided into pieces, and the pieces so far.
namespace troupe::dnn {

/// A function of elements under construction, with its inputs and outputs.
struct light_step {
  std::vector<std::size_t> leaves;
  std::vector<std::size_t> roots;
  std::vector<std::int64_t> extents;
  std::optional<row_space> rows;
  int instructions = 0;
};
/// A place in the order of execution. The requests of a light step are made in the end.
struct step {
  std::vector<piece> pieces;
  std::optional<light_step> light{};
};

/// A value in memory: the same in several types, and in outputs.
struct kept_value {
  std::vector<any_tensor> views;
  std::size_t step = 0;     ///< that writes it, counted from 1; 0 for an input
  std::size_t written = 0;  ///< of the views: the first ones, which a light step writes
};

/// Keeps values in memory in the types of their readers, and in outputs.
class graph_values {
 protected:
  graph_values(const graph& r, clustering nodes)
      : r_(r), nodes_(std::move(nodes)), kept_(nodes_.size()), wanted_(nodes_.size()) {}

  [[nodiscard]] any_tensor room_for(dtype type, std::span<const std::int64_t> extents);
  /// The type in which readers of single elements find a value.
  [[nodiscard]] dtype kept_type(std::size_t n) const {
    const nodes::kind what = nodes_.entry(n).what;
    return what == nodes::kind::convolution ? factors_of(n) : nodes_.form(n).type;
  }
  /// The type in which the factors of a heavy node are multiplied.
  [[nodiscard]] dtype factors_of(std::size_t n) const {
    const auto& operands = nodes_.entry(n).operands;
    return *factor_type(nodes_.form(operands[0]), nodes_.form(operands[1]));
  }

  /// A node as a view of its base.
  [[nodiscard]] any_tensor viewed(std::size_t n, const any_tensor& base) const {
    return nodes_.entry(n).what == nodes::kind::transpose ? *base.permute(nodes_.order(n)) : base;
  }

  void take_outputs();
  [[nodiscard]] std::vector<any_tensor> targets_of(std::size_t n) const;
  void ask_for(std::size_t n, dtype type);
  /// The tensors written for a value: outputs, and a temporary for each other type that is read.
  /// The widest first: narrower ones are copies of it.
  [[nodiscard]] std::vector<any_tensor> places_for(std::size_t n);
  void keep_input(std::size_t n);
  /// The value in that type; a copy if it is in memory in another type only.
  [[nodiscard]] any_tensor fetch(std::size_t n, dtype type);
  [[nodiscard]] any_tensor packed(const any_tensor& t);
  void add_copy(const any_tensor& from, const any_tensor& to);
  /// Writes a value in all of its places, from the one that a library has written.
  void keep_result(std::size_t n, const any_tensor& made, std::vector<any_tensor> places);
  [[nodiscard]] bool has_room() const noexcept { return room_bytes_ <= most_room; }

  const graph& r_;
  clustering nodes_;
  std::vector<kept_value> kept_;                             // by node
  std::vector<std::vector<dtype>> wanted_;                   // by node
  std::vector<std::pair<std::size_t, any_tensor>> targets_;  // outputs, by the node that they take
  std::vector<step> steps_;
  std::int64_t room_bytes_ = 0;

 private:
  static constexpr std::int64_t most_room = std::int64_t{1} << 47;
};

}  // namespace troupe::dnn
