#pragma once

#include "libraries/tensors/shared/planner.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::tensors {

/// Plans the product of two tensors that have a mode to sum over, as matrices.
///
/// Modes of all three tensors count matrices (batch); modes of a and d are rows (m), those of b and
/// d columns (n), those of a and b are summed (k). A tensor is used as it is if its rows, and its
/// columns, have one stride each and one of these is 1; otherwise it is copied. The order of modes
/// within rows, columns and sums is free, and a mode of rows or columns may count matrices instead:
/// the cheapest of all these ways is chosen.
class pair_planner {
 public:
  /// `d` is null where the product's own order is wanted.
  pair_planner(planner& to, const named_place& a, const named_place& b, const named_place* d,
               mode_set kept);

  /// True for two vectors that lie as they are multiplied, and are of a type that products take.
  [[nodiscard]] bool is_dot() const noexcept;
  /// d = alpha · Σ a · b + beta · c. Precondition: it was made with d
  void write(const target& to);
  /// The same into a temporary.
  [[nodiscard]] named_place write();

 private:
  enum tensor : std::uint8_t { a, b, d };
  static constexpr int tensors = 3;
  enum group : std::uint8_t { batch, rows, columns, sums };

  /// A mode, or several that every tensor steps through without a gap.
  struct dimension {
    std::string modes;  ///< outermost first
    std::int64_t extent;
    std::array<std::int64_t, tensors> strides;
    group in;
    [[nodiscard]] bool is_of(tensor t) const noexcept;
  };
  using list = std::vector<const dimension*>;
  /// One way.
  struct way {
    list batch, rows, columns, sums;
    std::array<bool, tensors> copied{};
    double cost = 0;
  };

  void fuse();
  [[nodiscard]] bool fusible(const dimension& outer, const dimension& inner) const noexcept;
  [[nodiscard]] way cheapest() const;
  /// `moved` counts matrices; `other_order` of rows, columns and sums.
  [[nodiscard]] way evaluated(std::uint32_t moved, std::uint32_t other_order) const;
  [[nodiscard]] list sorted(group g, tensor by, std::uint32_t moved) const;
  [[nodiscard]] bool fits(const list& first, const list& second, tensor t) const noexcept;
  [[nodiscard]] bool must_copy(tensor t) const noexcept;
  [[nodiscard]] double cost_of(const way& w) const;
  /// The order of a packed copy.
  [[nodiscard]] list packed_order(const way& w, tensor t) const;
  [[nodiscard]] named_place copied(const way& w, tensor t);
  void multiply(const way& w, const std::array<named_place, tensors>& of, const scalar& alpha,
                const scalar& beta);
  /// Whether a library of contractions does it instead of this way.
  [[nodiscard]] bool by_library(const way& w) const;
  /// It needs copies, and small ones.
  [[nodiscard]] bool copies_little(const way& w) const;
  /// It multiplies matrices by vectors, and the innermost mode of the matrices is not summed.
  [[nodiscard]] bool keeps_innermost(const way& w) const;
  [[nodiscard]] std::vector<step::loop> loops(
      const list& batch, const std::array<std::vector<std::int64_t>, tensors>& strides) const;

  planner& to_;
  std::array<named_place, tensors> given_;
  bool free_;  // d is where the product puts it
  std::vector<dimension> dimensions_;
  dtype between_;
};

}  // namespace troupe::tensors
