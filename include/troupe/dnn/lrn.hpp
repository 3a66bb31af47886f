#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// Local response normalisation across channels. Source: Krizhevsky, Sutskever, Hinton, "ImageNet
/// Classification with Deep Convolutional Neural Networks", 2012, with the sum divided by `size`,
/// as cuDNN, oneDNN and PyTorch have it.
///
/// Tensors are [n, c, space…], with 0 to 3 dimensions of space; any strides. Types: f64, f32, f16,
/// bf16, one throughout; f16 and bf16 compute in f32.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for a number out of
/// its range
namespace troupe::dnn {

/// y = x · s^−beta, with s = k + alpha / size · Σ x² over the `size` neighbouring channels from
/// c − ⌊size / 2⌋ to c + ⌊(size − 1) / 2⌋, as far as there are.
struct TROUPE_EXPORT lrn_forward {
  static constexpr std::string_view name = "dnn.lrn_forward";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  std::int64_t size = 5;  ///< from 1 to 2³¹ − 1
  double alpha = 1e-4;    ///< at least 0
  double beta = 0.75;     ///< finite
  double k = 1;           ///< above 0

  static void describe(description<lrn_forward>& d);
};

/// The gradient of `lrn_forward`: dx = dy · s^−beta − 2 · alpha · beta / size · x · Σ dy · x ·
/// s^(−beta − 1), over the channels in whose sum x is.
///
/// Reads x and dy, writes dx.
struct TROUPE_EXPORT lrn_backward {
  static constexpr std::string_view name = "dnn.lrn_backward";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor dx{};
  std::int64_t size = 5;  ///< from 1 to 2³¹ − 1
  double alpha = 1e-4;    ///< at least 0
  double beta = 0.75;     ///< finite
  double k = 1;           ///< above 0

  static void describe(description<lrn_backward>& d);
};

}  // namespace troupe::dnn
