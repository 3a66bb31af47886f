#pragma once

#include "conformance/scene.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Shared by the tests of named operations. Their references are loops in f64 over row-major
/// elements.
namespace troupe::conformance::elementwise_reference {

using reals = std::vector<double>;
using extents = std::vector<std::int64_t>;

inline constexpr dtype norm_types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};
inline constexpr dtype float_types[] = {dtype::f64,  dtype::f32,  dtype::f16,
                                        dtype::bf16, dtype::e4m3, dtype::e5m2};

/// Tensors of one shape, and an axis of it.
struct tensor_case {
  extents size;
  extents strides;
  std::int64_t axis;
};
/// One element, odd extents, long rows, gaps, transposed, and without elements.
[[nodiscard]] std::span<const tensor_case> tensor_cases();

[[nodiscard]] extents packed_strides(const extents& size);
/// The elements before the request, in row-major order.
[[nodiscard]] reals content(const test_tensor& t);
/// For each row along `axes`, which count from the first, the numbers of its elements.
[[nodiscard]] std::vector<std::vector<std::size_t>> rows_of(const extents& size,
                                                            const extents& axes);
/// Expects |now − expected| ≤ eps(type) |expected| + 64 eps(computed in) (|expected| + magnitude).
void expect_reals(scene& s, const test_tensor& t, const reals& expected, double magnitude = 1);
/// A tensor in a case's layout.
[[nodiscard]] test_tensor& tensor_of(scene& s, dtype type, const tensor_case& c);
/// The case, for messages.
void name_case(scene& s, dtype type, const extents& size, std::int64_t detail = 0);
/// The type of statistics and losses.
[[nodiscard]] dtype wide_type(dtype type);

}  // namespace troupe::conformance::elementwise_reference
