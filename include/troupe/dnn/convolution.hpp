#pragma once

#include <troupe/base/export.hpp>
#include <troupe/dnn/modes.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// Convolutions in one, two and three dimensions, as neural networks use them: the filter is not
/// mirrored (cross-correlation).
///
/// Extents are those of the mathematics, [n, c, space…] for images and [k, c / groups, space…] for
/// filters, whatever the order in memory. That follows from the strides: a tensor is dense, its
/// dimensions in any order, so that channels-last (NHWC) is `permute` of a packed [n, h, w, c].
///
/// `stride`, `dilation` (at least 1), `padding` and `post_padding` (at least 0; zeros before and
/// after each dimension) have one number for each dimension of space, or one for all of them; empty
/// lists are 1, 1, 0, and the value of `padding`. Channels are in `groups`, which are convolved
/// apart; with as many groups as channels that is a depthwise convolution.
///
/// Types of image, filter → result:
///
/// - f64; f32, with `math`; f16, bf16: all requests. Sums and epilogue in f32, or f64 for f64.
/// - e4m3 → e4m3, forward, summed in f32; alpha is the product of the scales. Bias is f32.
/// - i8 → i32, i8 (to nearest even) and f32, forward: sums wrap in i32. An i32 result takes no
///   epilogue; for i8 and f32 results, epilogue and bias are f32. Results in i8 and e4m3 saturate.
///
/// For i8 the channels are contiguous (channels-last), not in groups, and their numbers multiples
/// of 4, for e4m3 of 16.
///
/// `deterministic`: the same bits on every run of the same machine and library version. The CPU
/// backend always is.
///
/// `tuning::timed` applies to a GPU: the engines that cuDNN proposes, at most 8, are timed for the
/// first request of a kind, in memory of their own of the operands' sizes, and the fastest is kept
/// with the plan, for later workers and programs too.
///
/// n may be 0: nothing is computed, and the gradient of a filter is 0. All other extents are at
/// least 1.
///
/// \errors `shape_mismatch` for extents that do not go together, among them a dilated filter that
/// exceeds the padded image; `type_mismatch`, `layout_unsupported`, `aliasing`; `invalid_argument`
/// for a missing or superfluous operand or a number out of its range; `unsupported` for a rule of
/// the types above, or, on a GPU, where cuDNN has no kernel
namespace troupe::dnn {

/// y = activation(alpha · (x ∗ w) + beta · z + bias), with
/// (x ∗ w)[n, k, o] = Σ x[n, c, o · stride − padding + f · dilation] · w[k, c, f], over the
/// channels c of k's group and the filter's positions f.
///
/// x is [n, c, in…], w [k, c / groups, filter…], y and z [n, k, out…], bias [k], with out = ⌊(in +
/// padding + post_padding − dilation · (filter − 1) − 1) / stride⌋ + 1. z is given if and only if
/// beta is not 0, has y's type and may be the same view as y; bias may be left out, and has y's
/// type unless stated otherwise above. The gradient of bias is `elementwise.bias_add_backward` with
/// axis 1.
struct TROUPE_EXPORT convolution_forward {
  static constexpr std::string_view name = "dnn.convolution_forward";
  using reply = void;

  any_tensor x{};
  any_tensor w{};
  any_tensor y{};
  any_tensor z{};
  any_tensor bias{};  ///< may be left out
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> dilation{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  std::int64_t groups = 1;
  scalar alpha = 1;
  scalar beta = 0;
  dnn::activation activation = dnn::activation::none;
  double upper = 6;      ///< for clipped_relu
  double slope = 0.01;   ///< for leaky_relu
  double elu_alpha = 1;  ///< for elu
  dnn::math_mode math = dnn::math_mode::strict;
  bool deterministic = false;
  dnn::tuning tuning = dnn::tuning::heuristic;

  static void describe(description<convolution_forward>& d);
};

/// The gradient of `convolution_forward` by its image: dx = alpha · Σ dy · w + beta · dx, over all
/// places where the element of x was used.
///
/// Reads dy [n, k, out…] and w [k, c / groups, filter…], writes dx [n, c, in…], or updates it where
/// beta is not 0. The extents of dx must be such that the forward convolution has those of dy;
/// several have where stride is above 1, so only without stride can `dx` be left out in Python.
struct TROUPE_EXPORT convolution_backward_data {
  static constexpr std::string_view name = "dnn.convolution_backward_data";
  using reply = void;

  any_tensor dy{};
  any_tensor w{};
  any_tensor dx{};
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> dilation{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  std::int64_t groups = 1;
  scalar alpha = 1;
  scalar beta = 0;
  dnn::math_mode math = dnn::math_mode::strict;
  bool deterministic = false;
  dnn::tuning tuning = dnn::tuning::heuristic;

  static void describe(description<convolution_backward_data>& d);
};

/// The gradient of `convolution_forward` by its filter: dw = alpha · Σ dy · x + beta · dw, over all
/// images and all places where the element of w was used.
///
/// Reads x [n, c, in…] and dy [n, k, out…], writes dw [k, c / groups, filter…], or updates it where
/// beta is not 0. As of `dx`, several extents of dw may fit; without stride and dilation, `dw` can
/// be left out in Python.
struct TROUPE_EXPORT convolution_backward_filter {
  static constexpr std::string_view name = "dnn.convolution_backward_filter";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor dw{};
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> dilation{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  std::int64_t groups = 1;
  scalar alpha = 1;
  scalar beta = 0;
  dnn::math_mode math = dnn::math_mode::strict;
  bool deterministic = false;
  dnn::tuning tuning = dnn::tuning::heuristic;

  static void describe(description<convolution_backward_filter>& d);
};

/// The transposed convolution (also called deconvolution, or fractionally strided): y =
/// activation(alpha · Σ x · w + beta · z + bias), where Σ x · w is what
/// `convolution_backward_data` makes of x as its dy.
///
/// x is [n, c, in…], w [c, k / groups, filter…], y and z [n, k, out…], bias [k], with out = (in −
/// 1) · stride + dilation · (filter − 1) + 1 − padding − post_padding + output_padding.
/// `output_padding` (from 0 to stride − 1, one number or one for each dimension, empty: 0) chooses
/// one of the extents whose forward convolution has those of x. z, bias and activation are as
/// there. The gradients are `convolution_forward` of dy with w, and `convolution_backward_filter`
/// with dy as x and x as dy.
///
/// Types: f64, f32, f16, bf16.
struct TROUPE_EXPORT convolution_transposed {
  static constexpr std::string_view name = "dnn.convolution_transposed";
  using reply = void;

  any_tensor x{};
  any_tensor w{};
  any_tensor y{};
  any_tensor z{};
  any_tensor bias{};  ///< may be left out
  std::vector<std::int64_t> stride{};
  std::vector<std::int64_t> dilation{};
  std::vector<std::int64_t> padding{};
  std::vector<std::int64_t> post_padding{};
  std::vector<std::int64_t> output_padding{};
  std::int64_t groups = 1;
  scalar alpha = 1;
  scalar beta = 0;
  dnn::activation activation = dnn::activation::none;
  double upper = 6;      ///< for clipped_relu
  double slope = 0.01;   ///< for leaky_relu
  double elu_alpha = 1;  ///< for elu
  dnn::math_mode math = dnn::math_mode::strict;
  bool deterministic = false;
  dnn::tuning tuning = dnn::tuning::heuristic;

  static void describe(description<convolution_transposed>& d);
};

}  // namespace troupe::dnn
