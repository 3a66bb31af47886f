#pragma once

#include <troupe/request/request.hpp>
#include <troupe/tensors/operators.hpp>

#include <string>
#include <string_view>

/// Reductions over named dimensions; `contract.hpp` says what modes are.
namespace troupe::tensors {

/// Reduces the modes that d lacks: d = alpha · op(a) + beta · c, `"ijk->ik"`.
///
/// A mode that a has twice means its diagonal. Any strides; d addresses no element twice and is
/// apart from a. c has the modes of d and may be the same view; it is given where beta is not zero,
/// and is otherwise not read.
///
/// Types: one of f32 f64 f16 bf16 c64 c128 for all tensors. f16 and bf16 are computed in f32.
/// Values are accumulated in an order that is fixed by shapes, types and strides, and where
/// cuTENSOR sums, by the alignment of a and d.
/// \errors as `contract`; `type_mismatch` for an operation that complex numbers lack
struct TROUPE_EXPORT reduce {
  static constexpr std::string_view name = "tensors.reduce";
  using reply = void;

  std::string modes{};
  any_tensor a{};
  any_tensor c{};
  any_tensor d{};
  scalar alpha = 1;
  scalar beta = 0;
  reduction op = reduction::sum;

  static void describe(description<reduce>& d);
};

}  // namespace troupe::tensors
