#pragma once

#include "libraries/dnn/requests/graph/inference.hpp"

#include <troupe/elementwise/function.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Which nodes of a graph are computed together, so that what goes between them needs no memory.
namespace troupe::dnn {

/// The rows that reductions and norms go along.
struct row_space {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> axes;
  friend bool operator==(const row_space&, const row_space&) = default;
};

/// The computation of one function of elements, from values in memory.
struct cluster {
  std::vector<std::size_t> leaves;  ///< nodes whose elements it reads, sorted
  int instructions = 0;             ///< at most so many
  std::optional<row_space> rows{};
  bool one_space = true;  ///< all that goes along rows goes along these
};

/// Products and convolutions; all else that computes is done by functions of elements.
[[nodiscard]] constexpr bool is_heavy(nodes::kind what) noexcept {
  return what == nodes::kind::matmul || what == nodes::kind::convolution;
}
[[nodiscard]] constexpr bool is_source(nodes::kind what) noexcept {
  return what == nodes::kind::input || what == nodes::kind::constant;
}
[[nodiscard]] constexpr bool is_light(nodes::kind what) noexcept {
  return !is_heavy(what) && !is_source(what) && what != nodes::kind::transpose;
}

/// A graph with the forms of its nodes, and what of them is kept in memory.
class clustering {
 public:
  static constexpr int most_instructions = 200;

  explicit clustering(std::vector<nodes::entry> entries, std::vector<node_form> forms,
                      std::vector<std::uint16_t> results);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] const nodes::entry& entry(std::size_t n) const { return entries_[n]; }
  [[nodiscard]] const node_form& form(std::size_t n) const { return forms_[n]; }
  [[nodiscard]] const std::vector<std::uint16_t>& results() const noexcept { return results_; }
  /// An output depends on it.
  [[nodiscard]] bool needed(std::size_t n) const { return uses_[n] > 0; }
  /// How many nodes and outputs use it.
  [[nodiscard]] int uses(std::size_t n) const { return uses_[n]; }
  /// It is in memory: operands and results of heavy nodes, and values that one function does not
  /// reach.
  [[nodiscard]] bool is_root(std::size_t n) const { return root_[n]; }
  /// The node that a transpose, or several, are views of.
  [[nodiscard]] std::size_t base(std::size_t n) const;
  /// The order of dimensions in which `n` is that view.
  [[nodiscard]] std::vector<int> order(std::size_t n) const;

  /// Keeps sums of a product with a row and a matrix in memory, so that they are a product's tail:
  /// one of f32 or f64 that begins with them costs as much as one that begins with zeros, and what
  /// follows reads one operand instead of three.
  void keep_sums();

  /// Computes a light node from values in memory. The roots in `within` are computed, too.
  [[nodiscard]] cluster closure(std::size_t n, std::span<const std::size_t> within = {}) const;
  /// The reductions of a node; none if it has no rows.
  [[nodiscard]] std::optional<row_space> rows_of(std::size_t n) const;
  /// The same extents, but for 1 along the axes.
  [[nodiscard]] static bool is_of_rows(const std::vector<std::int64_t>& extents,
                                       const row_space& rows);

 private:
  void divide();
  /// The rows of a product that a row can be added to: the last extent of `of`, and 1 before it.
  [[nodiscard]] bool is_row_of(std::size_t n, std::size_t of) const;
  void settle(std::size_t n);
  [[nodiscard]] bool is_inner(std::size_t n) const {
    return is_light(entries_[n].what) && !root_[n];
  }

  std::vector<nodes::entry> entries_;
  std::vector<node_form> forms_;
  std::vector<std::uint16_t> results_;
  std::vector<int> uses_;
  std::vector<bool> root_;
};

/// The values of `roots` as a function of `leaves`; nodes that are no leaves are computed.
[[nodiscard]] elementwise::function function_of(const clustering& graph,
                                                std::span<const scalar> constants,
                                                std::span<const std::size_t> leaves,
                                                std::span<const std::size_t> roots);

}  // namespace troupe::dnn
