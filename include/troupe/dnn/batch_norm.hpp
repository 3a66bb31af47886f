#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <string_view>

/// Normalisation of each channel over all images and all of space, with running statistics. Source:
/// Ioffe, Szegedy, "Batch Normalization", 2015. Layer, RMS, group and instance norms are requests
/// of `elementwise`.
///
/// x, y and their gradients are [n, c, space…], with 0 to 3 dimensions of space; everything else is
/// [c]. Any strides. Fastest are tensors whose channels, or whose space, are contiguous.
///
/// Types: x, y and their gradients have one type: f64, f32, f16, bf16. Weight, bias and their
/// gradients have the same type, or f32 beside f16 and bf16. Statistics (mean, rstd, running_mean,
/// running_variance) are f64 for f64, else f32. f16 and bf16 compute in f32. A weight that is not
/// given is 1, a bias 0. Sums are formed in a fixed order: the same bits on every run of one
/// backend.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for a number out of
/// its range
namespace troupe::dnn {

/// y = (x − mean) · rstd · weight + bias, with the channel's mean and variance E[(x − mean)²] in x,
/// and rstd = 1 / √(variance + eps).
///
/// Reads x, weight, bias; writes y, which may be the same view as x, mean and rstd, which the
/// gradient needs, and updates both or neither of the running statistics: running = (1 − momentum)
/// · running + momentum · new, where new is the mean, and the variance · m / (m − 1) for the
/// channel's m elements, or the variance 0 of a single one. Without elements the mean and rstd are
/// NaN, and running statistics stay as they are.
struct TROUPE_EXPORT batch_norm_training {
  static constexpr std::string_view name = "dnn.batch_norm_training";
  using reply = void;

  any_tensor x{};
  any_tensor weight{};  ///< may be left out
  any_tensor bias{};    ///< may be left out
  any_tensor y{};
  any_tensor mean{};
  any_tensor rstd{};
  any_tensor running_mean{};  ///< may be left out, with running_variance
  any_tensor running_variance{};
  double momentum = 0.1;  ///< from 0 to 1
  double eps = 1e-5;      ///< at least 0

  static void describe(description<batch_norm_training>& d);
};

/// y = (x − mean) / √(variance + eps) · weight + bias, with statistics that are given: the running
/// ones.
///
/// Reads x, mean, variance, weight, bias; writes y, which may be the same view as x.
struct TROUPE_EXPORT batch_norm_inference {
  static constexpr std::string_view name = "dnn.batch_norm_inference";
  using reply = void;

  any_tensor x{};
  any_tensor mean{};
  any_tensor variance{};
  any_tensor weight{};  ///< may be left out
  any_tensor bias{};    ///< may be left out
  any_tensor y{};
  double eps = 1e-5;  ///< at least 0

  static void describe(description<batch_norm_inference>& d);
};

/// The gradient of `batch_norm_training`. With x̂ = (x − mean) · rstd and E over the channel's
/// elements: dx = weight · rstd · (dy − E[dy] − x̂ · E[dy · x̂]), dweight = Σ dy · x̂, dbias = Σ dy.
///
/// Reads x, dy, weight, mean and rstd as they are there; writes dx, which may be the same view as x
/// or dy, and dweight and dbias where they are given.
struct TROUPE_EXPORT batch_norm_backward {
  static constexpr std::string_view name = "dnn.batch_norm_backward";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor mean{};
  any_tensor rstd{};
  any_tensor weight{};  ///< may be left out
  any_tensor dx{};
  any_tensor dweight{};  ///< may be left out
  any_tensor dbias{};    ///< may be left out

  static void describe(description<batch_norm_backward>& d);
};

}  // namespace troupe::dnn
