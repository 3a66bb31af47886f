#pragma once

#include <troupe/request/request.hpp>
#include <troupe/tensors/operators.hpp>

#include <string>
#include <string_view>

/// Permutations and elementwise operations over named dimensions; `contract.hpp` says what modes
/// are. A mode of the result that an operand lacks, or has with extent 1, repeats it. A mode that
/// only operands have is refused: nothing is summed here.
namespace troupe::tensors {

/// Permutes, and converts: d = alpha · a, `"ijk->kij"`.
///
/// Any strides; d addresses no element twice and is apart from a. Types: those of `contract`, or
/// f16 and bf16 to f32 and back. A factor of 1 keeps every bit where the types are equal.
/// \errors as `contract`
struct TROUPE_EXPORT permute {
  static constexpr std::string_view name = "tensors.permute";
  using reply = void;

  std::string modes{};
  any_tensor a{};
  any_tensor d{};
  scalar alpha = 1;

  static void describe(description<permute>& d);
};

/// d = alpha · op(a), `"ij->ji"`.
///
/// d may be the same view as a, with the same modes. Types: one of f32 f64 f16 bf16 c64 c128;
/// f16 and bf16 are computed in f32. \errors as `contract`; `type_mismatch` for an operator that
/// complex numbers lack
struct TROUPE_EXPORT unary {
  static constexpr std::string_view name = "tensors.unary";
  using reply = void;

  std::string modes{};
  any_tensor a{};
  any_tensor d{};
  scalar alpha = 1;
  unary_operator op = unary_operator::identity;

  static void describe(description<unary>& d);
};

/// d = op(alpha · op_a(a), gamma · op_c(c)), `"ij,ji->ij"`.
///
/// d may be the same view as an operand that has the same modes. The rest is as in `unary`.
struct TROUPE_EXPORT binary {
  static constexpr std::string_view name = "tensors.binary";
  using reply = void;

  std::string modes{};
  any_tensor a{};
  any_tensor c{};
  any_tensor d{};
  scalar alpha = 1;
  scalar gamma = 1;
  unary_operator op_a = unary_operator::identity;
  unary_operator op_c = unary_operator::identity;
  binary_operator op = binary_operator::add;

  static void describe(description<binary>& d);
};

/// d = op(op_ab(alpha · op_a(a), beta · op_b(b)), gamma · op_c(c)), `"ij,jk,ik->ijk"`.
///
/// The rest is as in `binary`.
struct TROUPE_EXPORT trinary {
  static constexpr std::string_view name = "tensors.trinary";
  using reply = void;

  std::string modes{};
  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  any_tensor d{};
  scalar alpha = 1;
  scalar beta = 1;
  scalar gamma = 1;
  unary_operator op_a = unary_operator::identity;
  unary_operator op_b = unary_operator::identity;
  unary_operator op_c = unary_operator::identity;
  binary_operator op_ab = binary_operator::multiply;
  binary_operator op = binary_operator::add;

  static void describe(description<trinary>& d);
};

}  // namespace troupe::tensors
