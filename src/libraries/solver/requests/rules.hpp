#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/request/argument_checks.hpp>
#include <troupe/request/description.hpp>

#include <initializer_list>
#include <string_view>

/// The common part of descriptions of the solver's requests.
namespace troupe::solver {

inline constexpr std::initializer_list<dtype> solver_types = {dtype::f32, dtype::f64, dtype::c64,
                                                              dtype::c128};
/// Types of a matrix, of its real results (singular values), and of two more tensors like it.
[[nodiscard]] const type_rows& matrix_and_real_rows();
/// Types of a matrix, and of three complex tensors of its precision.
[[nodiscard]] const type_rows& matrix_and_complex_rows();

/// Leading extents of a batch: as many as the rank limit leaves beside a matrix.
template <class R>
[[nodiscard]] extent batch_of(description<R>& d) {
  return d.sizes("batch", 0, max_rank - 2);
}

/// The field `info`.
template <class R>
void describe_info(description<R>& d, const extent& batch, std::string_view what) {
  d.writes("info", &R::info, {batch}, what).optional();
  d.layouts(layout::packed, {&R::info});
  d.same_type({&R::info}, {dtype::i32});
  d.keeps_outcomes(errc::numerical, d.given(&R::info));
}

inline constexpr std::string_view singular_info = "0, or the zero pivot, from 1";
inline constexpr std::string_view minor_info =
    "0, or the order of the first leading minor that is not positive";
inline constexpr std::string_view uplo_text = "the triangle that is read";
inline constexpr std::string_view limit_text = "rows and columns are less than 2^31";

/// A matrix has less than 2^31 rows and columns, because `info` counts them in i32.
argument_checks& check_limit(argument_checks& check, const operand& a);

/// The rule for one or two operands.
template <class R>
void describe_limit(description<R>& d) {
  d.rule(limit_text, [](argument_checks& check, const R& r) {
    if constexpr (requires { r.a; }) check_limit(check, {"a", r.a});
    if constexpr (requires { r.ab; }) check_limit(check, {"ab", r.ab});
    if constexpr (requires { r.lu; }) check_limit(check, {"lu", r.lu});
    if constexpr (requires { r.factor; }) check_limit(check, {"factor", r.factor});
    if constexpr (requires { r.qr; }) check_limit(check, {"qr", r.qr});
    if constexpr (requires { r.x; }) check_limit(check, {"x", r.x});
  });
}

}  // namespace troupe::solver
