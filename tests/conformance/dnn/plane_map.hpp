#pragma once

#include "convolution_cases.hpp"

#include <functional>

/// A linear map of each channel of each image: averages and interpolations.
namespace troupe::conformance {

inline constexpr dtype image_types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};

/// [n, c, space…].
[[nodiscard]] numbers image_extents(std::int64_t n, std::int64_t c, const numbers& space);
/// The number of elements.
[[nodiscard]] std::int64_t product_of(const numbers& extents);
/// Calls `f(index)` for each index of these extents, in row-major order.
void for_each_place(const numbers& extents, const std::function<void(const numbers&)>& f);
/// The place of an index in row-major order.
[[nodiscard]] std::size_t flat_place(const numbers& index, const numbers& extents);
[[nodiscard]] std::string text_of_numbers(const numbers& list);

/// The factor of each element of a channel in each element of its result.
struct plane_map {
  numbers in;  ///< extents of space
  numbers out;
  std::vector<std::vector<double>> factors;  ///< [out][in]

  /// For maps that are separable by dimension: the product of these factors, `along[d][o][i]`.
  [[nodiscard]] static plane_map of(const std::vector<std::vector<std::vector<double>>>& along);
};

/// Expects that y is the map of x, or that dx is the map's transpose of dy.
void expect_mapped(scene& s, const plane_map& map, const test_tensor& x, const test_tensor& y);
void expect_transposed(scene& s, const plane_map& map, const test_tensor& dy,
                       const test_tensor& dx);

/// Runs the request, whose x and y, or dy and dx, are of these sizes.
template <class Forward>
void run_linear_forward(const plane_map& map, dtype type, std::int64_t n, std::int64_t c,
                        image_order order, const std::string& text, Forward request) {
  scene s;
  s.name(text);
  auto& x = image_tensor(s, type, image_extents(n, c, map.in), order);
  auto& y = image_tensor(s, type, image_extents(n, c, map.out), order);
  request.x = x.view;
  request.y = y.view;
  s.run(request);
  expect_mapped(s, map, x, y);
}
template <class Backward>
void run_linear_backward(const plane_map& map, dtype type, std::int64_t n, std::int64_t c,
                         image_order order, const std::string& text, Backward request) {
  scene s;
  s.name(text);
  auto& dy = image_tensor(s, type, image_extents(n, c, map.out), order);
  auto& dx = image_tensor(s, type, image_extents(n, c, map.in), order);
  request.dy = dy.view;
  request.dx = dx.view;
  s.run(request);
  expect_transposed(s, map, dy, dx);
}

/// The gradient of Σ dy · f(x) by x, by differences.
[[nodiscard]] std::vector<double> gradient_by_differences(
    const std::function<std::vector<double>(const std::vector<double>&)>& f, std::vector<double> x,
    const std::vector<double>& dy);
[[nodiscard]] std::vector<double> reals_of(const std::vector<number>& list);

}  // namespace troupe::conformance
