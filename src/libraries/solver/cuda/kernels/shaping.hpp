#pragma once

#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>

/// Kernels that make matrices what routines expect, and what requests promise. Each takes no
/// matrices or empty ones, too.
namespace troupe::cuda {

/// What is made of square matrices; the triangle is that of what lies there.
struct triangle_shape {
  bool upper = false;
  bool zero_other = false;     ///< the other triangle
  bool real_diagonal = false;  ///< of complex matrices
  bool unit_diagonal = false;
};
[[nodiscard]] result<void> shape_triangle(const matrices& m, const triangle_shape& as, lane& where);

/// Makes the other triangle the conjugate transpose of this one.
[[nodiscard]] result<void> mirror_triangle(const matrices& m, bool upper, lane& where);
[[nodiscard]] result<void> fill_identity(const matrices& m, lane& where);
/// Conjugates every element; nothing for real types.
[[nodiscard]] result<void> conjugate(const matrices& m, lane& where);

/// info[b] = i + 1 for the first i whose diagonal element is zero, or 0.
[[nodiscard]] result<void> find_zero_on_diagonal(const matrices& m, std::int32_t* info,
                                                 lane& where);
/// info[b] = i + 1 for the first i whose diagonal element is NaN, of those before the element that
/// info[b] names already.
[[nodiscard]] result<void> find_nan_on_diagonal(const matrices& m, std::int32_t* info, lane& where);
/// Where info[b] is not 0, the matrix becomes what lies in `old`, of the same extents.
[[nodiscard]] result<void> restore_where_failed(const matrices& m, const any_tensor& old,
                                                const std::int32_t* info, lane& where);

/// What is beside the triangle, and with `unit_diagonal` the diagonal, becomes what lies in `old`.
[[nodiscard]] result<void> restore_beside(const matrices& m, const any_tensor& old,
                                          const triangle_shape& as, lane& where);

/// Which elements of a matrix are looked at.
enum class part : std::uint8_t { all, upper, lower };
/// Adds 1 to flags[b], which must be clear, where a matrix has infinities or NaNs there, and makes
/// such a matrix zero.
[[nodiscard]] result<void> set_aside_not_finite(const matrices& m, part looked_at,
                                                std::uint32_t* flags, lane& where);

/// Multiplies each matrix whose elements are so small or so large that squares of them would be out
/// of range by a power of 2, which is written to scales[b], of the real type; for others that is 1.
/// No element that is looked at is infinite or NaN.
[[nodiscard]] result<void> scale_into_range(const matrices& m, part looked_at, std::byte* scales,
                                            lane& where);
/// Divides `each` real numbers of each matrix of `m` by its scale.
[[nodiscard]] result<void> divide_by_scales(const matrices& m, std::byte* numbers,
                                            std::int64_t each, const std::byte* scales,
                                            lane& where);

[[nodiscard]] result<void> clear(void* at, std::int64_t bytes, lane& where);

}  // namespace troupe::cuda
