#pragma once

#include "libraries/tensors/requests/notation.hpp"
#include "libraries/tensors/shared/program.hpp"

#include <troupe/tensors/operators.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::tensors {

/// The use of a library for contractions, sums and permutations.
enum class library_use : std::uint8_t {
  never,
  where_faster,
  always,  ///< all that it takes
};

/// The speeds of a backend: a planner weighs copies against split products with them. Rough figures
/// suffice; only large differences decide.
struct machine {
  double bytes_per_ns;
  double flops_per_ns;       ///< in f32
  double half_flops_per_ns;  ///< in f16 and bf16
  double call_ns;            ///< for one product or copy, however small
  std::int64_t tile;         ///< a product with fewer rows or columns wastes the difference
  bool widens;               ///< has no products of f16 and bf16: they are copied to f32 first
  bool dots;                 ///< a product of one row and one column is faster than a reduction
  library_use library = library_use::never;
};

/// A tensor of a program, with a mode for each dimension: none twice, none with one index.
struct named_place {
  std::size_t number = 0;  ///< the place's
  std::string modes;

  [[nodiscard]] mode_set set() const noexcept { return set_of(modes); }
};

/// The target of a result: d = alpha · … + beta · c.
struct target {
  named_place d;
  std::optional<named_place> c{};  ///< there if beta is not zero
  bool in_place = false;           ///< d is the same view as c or as the moved operand
  scalar alpha = 1;
  scalar beta = 0;
};

/// Writes a program.
class planner {
 public:
  planner(const machine& m, const mode_extents& extents) noexcept
      : machine_(m), extents_(extents) {}

  /// One of the request's tensors. A mode that it has twice is its diagonal; dimensions of one
  /// index, and repeated ones, are left out. With `first`, a part of it that begins there.
  [[nodiscard]] named_place operand(int number, const any_tensor& t, std::string_view modes,
                                    std::int64_t first = 0);
  /// Packed memory of the workspace.
  [[nodiscard]] named_place temporary(dtype type, std::string_view modes);
  /// Temporaries that no later step uses; request's tensors are left alone.
  void release(const named_place& one);

  /// d = alpha · a + beta · c, with a permuted and repeated as d's modes say.
  void move(const named_place& a, const target& to);
  /// A map of operands, repeated as d's modes say.
  void map(std::span<const named_place> inputs, const named_place& d, elementwise::function what);
  /// Rows along the modes that d lacks.
  void rows(std::span<const named_place> inputs, const named_place& d, elementwise::function what);
  /// d = beta · c, for a sum without terms.
  void scale(const target& to);
  /// d = alpha · op(a) + beta · c, over the modes that d lacks.
  void reduce(const named_place& a, reduction op, const target& to);
  /// By a library: d = alpha · Σ Π inputs + beta · d, over the modes that d lacks.
  void sum(std::span<const named_place> inputs, const named_place& d, const scalar& alpha,
           const scalar& beta);
  /// d = alpha · Σ a · b + beta · c.
  void contract(named_place a, named_place b, const target& to);
  /// The same into a new temporary with these modes, in the order that suits the product.
  [[nodiscard]] named_place contract(named_place a, named_place b, mode_set kept);

  [[nodiscard]] program finish() && {
    program_.workspace_bytes = end_;
    return std::move(program_);
  }

 private:
  friend class pair_planner;

  [[nodiscard]] const any_tensor& layout(const named_place& one) const {
    return program_.places[one.number].layout;
  }
  [[nodiscard]] dtype type(const named_place& one) const { return layout(one).type(); }
  [[nodiscard]] bool complex(const named_place& one) const { return is_complex(type(one)); }
  /// The type of temporaries for tensors of this type.
  [[nodiscard]] dtype between(dtype type) const noexcept {
    return machine_.widens && (type == dtype::f16 || type == dtype::bf16) ? dtype::f32 : type;
  }
  [[nodiscard]] std::int64_t count(std::string_view modes) const noexcept;
  /// 0 for a mode that it lacks.
  [[nodiscard]] std::int64_t stride(const named_place& one, char mode) const noexcept;
  /// A place with another layout of the same memory.
  [[nodiscard]] std::size_t add(const named_place& of, std::span<const std::int64_t> extents,
                                std::span<const std::int64_t> strides);
  /// Dimensions in this order, with extent 1 for modes that it lacks.
  [[nodiscard]] std::size_t ordered(const named_place& one, std::string_view order);
  [[nodiscard]] std::size_t allocate(std::size_t bytes);
  /// Modes in the order of memory, the largest stride first.
  [[nodiscard]] std::string by_stride(const named_place& one) const;
  /// Whether no two indices share an element, and it is computed in its own type, as a library
  /// wants it.
  [[nodiscard]] bool has_own_elements(const named_place& one) const;
  /// Whether a library permutes or sums a.
  [[nodiscard]] bool by_library(const named_place& a, const target& to) const;
  /// a, or a copy of it, if its rows, which are summed, are not what lies innermost.
  [[nodiscard]] named_place with_innermost(named_place a, mode_set summed);
  /// Whether a sum of their products is one of matrices: one has a mode that the other lacks.
  [[nodiscard]] bool multiplies_matrices(const named_place& a, const named_place& b) const;
  /// Sums what neither another tensor nor the result has.
  [[nodiscard]] named_place without(named_place a, mode_set summed);

  struct block {
    std::size_t place;
    std::size_t first, last;
  };

  const machine& machine_;
  const mode_extents& extents_;
  program program_;
  std::vector<block> held_;  ///< parts of the workspace, by address
  std::size_t end_ = 0;
};

}  // namespace troupe::tensors
