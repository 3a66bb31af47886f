#pragma once

#include "libraries/dnn/requests/geometry.hpp"

#include <troupe/dnn/graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// The types and extents of a computation's nodes for certain inputs. Shared by checks and
/// backends, so that the accepted and the executed ones cannot differ.
namespace troupe::dnn {

/// The arithmetic of a value.
enum class number_class : std::uint8_t { boolean, i64, f32, f64 };

[[nodiscard]] constexpr number_class class_of(dtype type) noexcept {
  if (type == dtype::f64) return number_class::f64;
  if (type == dtype::boolean) return number_class::boolean;
  return is_integer(type) ? number_class::i64 : number_class::f32;
}
[[nodiscard]] constexpr bool is_factor_type(dtype type) noexcept {
  return type == dtype::f64 || type == dtype::f32 || type == dtype::f16 || type == dtype::bf16;
}
[[nodiscard]] constexpr dtype type_of(intermediate_type type) noexcept {
  switch (type) {
    case intermediate_type::f32:
      break;
    case intermediate_type::f16:
      return dtype::f16;
    case intermediate_type::bf16:
      return dtype::bf16;
  }
  return dtype::f32;
}

struct node_form {
  std::vector<std::int64_t> extents;
  number_class computed = number_class::i64;
  bool constant = false;  ///< takes the class of the other operand
  bool settled = false;   ///< `type` is its own: it is an input or a cast
  dtype type{};           ///< in which it is stored, or passed to a product
};

/// The form of each node. `inputs` are there for their types and extents.
/// \errors `invalid_argument`, `shape_mismatch`, `type_mismatch`, naming the node and the rule
[[nodiscard]] result<std::vector<node_form>> infer(const computation& what,
                                                   std::span<const nodes::entry> entries,
                                                   std::span<const any_tensor> inputs,
                                                   intermediate_type intermediate);

/// The type that both factors of a product are multiplied in; nothing where they have none.
[[nodiscard]] std::optional<dtype> factor_type(const node_form& a, const node_form& b) noexcept;

/// Axes as numbers from 0, sorted. Precondition: a valid reduction or norm of that rank.
[[nodiscard]] std::vector<std::int64_t> axes_of(const nodes::entry& one, int rank);

/// The request of a convolution's node, without its tensors.
[[nodiscard]] convolution_forward convolution_request(const nodes::entry& one);

}  // namespace troupe::dnn
