#pragma once

#include "conformance/scene.hpp"

#include <troupe/dnn/convolution.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Convolutions as tests draw them, and naive loops in f64 to compare with.
namespace troupe::conformance {

using numbers = std::vector<std::int64_t>;

/// How a test lays tensors of images and filters out.
enum class image_order : std::uint8_t { channels_first, channels_last, mixed };
inline constexpr image_order image_orders[] = {image_order::channels_first,
                                               image_order::channels_last, image_order::mixed};

/// The element types of a convolution.
struct convolution_types {
  dtype x, y;
  dtype bias;
  bool forward_only = false;
};
inline constexpr convolution_types all_convolution_types[] = {
    {dtype::f64, dtype::f64, dtype::f64},      {dtype::f32, dtype::f32, dtype::f32},
    {dtype::f16, dtype::f16, dtype::f16},      {dtype::bf16, dtype::bf16, dtype::bf16},
    {dtype::i8, dtype::i32, dtype::i32, true}, {dtype::i8, dtype::i8, dtype::f32, true},
    {dtype::i8, dtype::f32, dtype::f32, true}, {dtype::e4m3, dtype::e4m3, dtype::f32, true},
};

/// As the name of a test says it.
[[nodiscard]] inline std::string name_of(const convolution_types& types) {
  std::string name(to_string(types.x));
  if (types.y != types.x) name += "_to_" + std::string(to_string(types.y));
  return name;
}

/// The operand z of a request that adds it.
enum class added_image : std::uint8_t { nothing, another, y_itself };

/// An image [n, groups · channels, in…], its filter and response [n, groups · responses, out…].
struct convolution_case {
  convolution_types types = all_convolution_types[1];
  std::int64_t n = 2;
  std::int64_t channels = 3;  ///< in a group
  std::int64_t responses = 4;
  std::int64_t groups = 1;
  numbers in{6, 7};
  numbers filter{3, 2};
  numbers stride{};
  numbers dilation{};
  numbers padding{};
  numbers post_padding{};
  numbers output_padding{};  ///< for a transposed convolution
  image_order order = image_order::channels_first;
  double alpha = 1;
  double beta = 0;
  added_image z = added_image::nothing;
  bool bias = false;
  dnn::activation activation = dnn::activation::none;
  dnn::math_mode math = dnn::math_mode::strict;
  dnn::tuning tuning = dnn::tuning::heuristic;
  bool keeps_layouts = false;  ///< forward and transposed: operands lie as `order` says

  [[nodiscard]] std::size_t space() const noexcept { return in.size(); }
  /// The number of a list in a dimension of space.
  [[nodiscard]] static std::int64_t number(const numbers& list, std::size_t d,
                                           std::int64_t otherwise) noexcept;
  [[nodiscard]] std::int64_t after(std::size_t d) const noexcept;
  /// The extents of the response; below 1 where the filter does not fit.
  [[nodiscard]] numbers out() const;
  [[nodiscard]] bool fits() const;
  [[nodiscard]] numbers image_extents() const;
  [[nodiscard]] numbers filter_extents() const;
  [[nodiscard]] numbers response_extents() const;
  [[nodiscard]] std::string text() const;
};

/// A small case with everything drawn, whose filter fits. Types of few layouts get those.
[[nodiscard]] convolution_case random_convolution(std::mt19937_64& random,
                                                  const convolution_types& types);

/// A dense tensor in an order; `mixed` is drawn.
[[nodiscard]] test_tensor& image_tensor(scene& s, dtype type, const numbers& extents,
                                        image_order order);

/// The results of each direction, and those for magnitudes, all in row-major order.
struct convolved {
  std::vector<double> values;
  std::vector<double> bound;
};
[[nodiscard]] convolved reference_forward(const convolution_case& c, std::span<const number> image,
                                          std::span<const number> filter);
[[nodiscard]] convolved reference_backward_data(const convolution_case& c,
                                                std::span<const number> response,
                                                std::span<const number> filter);
[[nodiscard]] convolved reference_backward_filter(const convolution_case& c,
                                                  std::span<const number> image,
                                                  std::span<const number> response);
[[nodiscard]] double reference_activation(dnn::activation kind, double x, double upper,
                                          double slope, double elu_alpha);

/// Runs the request and compares its result. Reports it if a GPU's library has no kernel.
void run_forward(const convolution_case& c);
void run_backward_data(const convolution_case& c);
void run_backward_filter(const convolution_case& c);
void run_transposed(const convolution_case& c);

}  // namespace troupe::conformance
