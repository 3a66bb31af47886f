#pragma once

#include "request/matrix_layout.hpp"

#include <troupe/blas/modes.hpp>
#include <troupe/request/argument_checks.hpp>
#include <troupe/request/description.hpp>

/// Rules that several BLAS requests share.
namespace troupe::blas {

/// The four element types of classic BLAS.
inline constexpr std::initializer_list<dtype> classic_types = {dtype::f32, dtype::f64, dtype::c64,
                                                               dtype::c128};
inline constexpr std::initializer_list<dtype> classic_and_half_types = {
    dtype::f32, dtype::f64, dtype::c64, dtype::c128, dtype::f16, dtype::bf16};
inline constexpr std::initializer_list<dtype> real_types = {dtype::f32, dtype::f64};
inline constexpr std::initializer_list<dtype> complex_types = {dtype::c64, dtype::c128};

/// The real type of the same precision.
[[nodiscard]] constexpr dtype real_of(dtype type) noexcept {
  if (type == dtype::c64) return dtype::f32;
  if (type == dtype::c128) return dtype::f64;
  return type;
}

/// tf32 and bf16x9 exist for products of f32 only.
inline argument_checks& math_fits(argument_checks& check, math_mode math, dtype type) {
  return check.rule(math == math_mode::strict || type == dtype::f32 || type == dtype::c64,
                    errc::invalid_argument, [&] {
                      return std::string("math is ") +
                             (math == math_mode::tf32 ? "tf32" : "bf16x9") + " but the type is " +
                             std::string(to_string(type)) + ", not f32 or c64";
                    });
}

/// Whether a product has another arithmetic than `strict`.
template <class R>
[[nodiscard]] condition takes_math(const description<R>& d, any_tensor R::* of) {
  return d.is(of, {dtype::f32, dtype::c64});
}

/// The types of a, b and c that a product takes.
[[nodiscard]] const type_rows& product_rows();

/// The types of a, b and c that a product takes, and factors that fit them.
argument_checks& product_types(argument_checks& check, const operand& a, const operand& b,
                               const operand& c);
argument_checks& product_factor(argument_checks& check, std::string_view name, const scalar& value,
                                dtype c);

}  // namespace troupe::blas
