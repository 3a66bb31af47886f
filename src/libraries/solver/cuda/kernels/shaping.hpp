#pragma once

#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>

/// Kernels that prepare matrices for routines, and finish results as requests promise. Each accepts
/// zero matrices, and empty ones.
namespace troupe::cuda {

/// The changes to square matrices. The triangle is the one in memory.
struct triangle_shape {
  bool upper = false;
  bool zero_other = false;     ///< in the other triangle
  bool real_diagonal = false;  ///< complex matrices only
  bool unit_diagonal = false;
};
[[nodiscard]] result<void> shape_triangle(const matrices& m, const triangle_shape& as, lane& where);

/// Makes the other triangle the conjugate transpose of this one.
[[nodiscard]] result<void> mirror_triangle(const matrices& m, bool upper, lane& where);
[[nodiscard]] result<void> fill_identity(const matrices& m, lane& where);
/// Conjugates every element; does nothing for real types.
[[nodiscard]] result<void> conjugate(const matrices& m, lane& where);

/// Sets info[b] to i + 1 for the first i whose diagonal element is zero, or to 0.
[[nodiscard]] result<void> find_zero_on_diagonal(const matrices& m, std::int32_t* info,
                                                 lane& where);
/// Sets info[b] to i + 1 for the first i whose diagonal element is NaN, if it comes before the
/// element that info[b] already names.
[[nodiscard]] result<void> find_nan_on_diagonal(const matrices& m, std::int32_t* info, lane& where);
/// Copies the matrix from `old`, of the same extents, if info[b] is not 0.
[[nodiscard]] result<void> restore_where_failed(const matrices& m, const any_tensor& old,
                                                const std::int32_t* info, lane& where);

/// Copies everything outside of the triangle from `old`; with `unit_diagonal` also the diagonal.
[[nodiscard]] result<void> restore_beside(const matrices& m, const any_tensor& old,
                                          const triangle_shape& as, lane& where);

/// The part of a matrix that is examined.
enum class part : std::uint8_t { all, upper, lower };
/// If a matrix has infinities or NaNs in that part, sets flags[b] to 1 and the matrix to zero. The
/// flags must be clear.
[[nodiscard]] result<void> set_aside_not_finite(const matrices& m, part looked_at,
                                                std::uint32_t* flags, lane& where);

/// Multiplies each matrix by a power of 2 if its elements are so small or large that their squares
/// would be out of range. Writes the power, or 1, to scales[b], in the real type. Elements in that
/// part must be finite.
[[nodiscard]] result<void> scale_into_range(const matrices& m, part looked_at, std::byte* scales,
                                            lane& where);
/// Divides `each` real numbers per matrix of `m` by the matrix's scale.
[[nodiscard]] result<void> divide_by_scales(const matrices& m, std::byte* numbers,
                                            std::int64_t each, const std::byte* scales,
                                            lane& where);

[[nodiscard]] result<void> clear(void* at, std::int64_t bytes, lane& where);

}  // namespace troupe::cuda
