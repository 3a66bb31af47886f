#pragma once

#include <troupe/primitives/reductions.hpp>
#include <troupe/request/argument_checks.hpp>

#include <initializer_list>

/// The common rules of this library's requests.
namespace troupe::primitives {

/// Types with an order: all but the complex ones.
inline constexpr std::initializer_list<dtype> ordered_types = {
    dtype::f64,  dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3,
    dtype::e5m2, dtype::i8,  dtype::u8,  dtype::i16,  dtype::u16,
    dtype::i32,  dtype::u32, dtype::i64, dtype::u64,  dtype::boolean};

inline constexpr std::initializer_list<dtype> every_type = {
    dtype::f64, dtype::f32,  dtype::f16, dtype::bf16, dtype::e4m3,   dtype::e5m2,
    dtype::c64, dtype::c128, dtype::i8,  dtype::u8,   dtype::i16,    dtype::u16,
    dtype::i32, dtype::u32,  dtype::i64, dtype::u64,  dtype::boolean};

/// Element types, and those that may hold their combination.
[[nodiscard]] type_rows combined_types();

/// Minimum and maximum are elements; a sum of booleans is no boolean.
argument_checks& holds_combination(argument_checks& check, const any_tensor& x,
                                   std::string_view name, const any_tensor& to, combination op);

/// There is at least one offset: n segments have n + 1.
argument_checks& offsets_bound_segments(argument_checks& check, const any_tensor& offsets);

/// A tensor of this rank has the axis.
argument_checks& axis_exists(argument_checks& check, std::int64_t axis, int rank);

/// `n` elements are few enough for a kernel that counts them in 31 bits.
argument_checks& are_counted(argument_checks& check, std::string_view of, std::int64_t n);

}  // namespace troupe::primitives
