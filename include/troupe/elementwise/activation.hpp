#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// Activations, and what stands beside them in a network. Tensors of a request have one type (f64,
/// f32, f16, bf16, e4m3, e5m2) and any strides; types smaller than f32 compute in f32. An output
/// may be the same view as an input of its shape.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for a number out of
/// its range
namespace troupe::elementwise {

enum class activation_kind : std::uint8_t {
  relu,        ///< x where x > 0, else 0; NaN stays NaN
  leaky_relu,  ///< x where x > 0, else alpha · x
  elu,         ///< x where x > 0, else alpha · (eˣ − 1)
  gelu,        ///< x · Φ(x), by erf
  gelu_tanh,   ///< its approximation by tanh
  silu,        ///< x · sigmoid(x)
  sigmoid,     ///< 1 / (1 + e⁻ˣ)
  tanh,
  softplus,  ///< log(1 + eˣ)
  mish,      ///< x · tanh(softplus(x))
};

/// y = kind(x), element by element. Any shape.
struct activation {
  static constexpr std::string_view name = "elementwise.activation";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  activation_kind kind = activation_kind::relu;
  double alpha = 0.01;  ///< for leaky_relu, and for elu, where 1 is usual

  TROUPE_EXPORT static void describe(description<activation>& d);
};

/// dx = dy · kind'(x). The derivative of relu, leaky_relu and elu at 0 is that of x < 0.
struct activation_backward {
  static constexpr std::string_view name = "elementwise.activation_backward";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor dx{};
  activation_kind kind = activation_kind::relu;
  double alpha = 0.01;  ///< for leaky_relu, and for elu, where 1 is usual

  TROUPE_EXPORT static void describe(description<activation_backward>& d);
};

/// y = x + bias, where bias has one element for each index along the axis.
///
/// Reads x, of rank 1 or more, and bias [extent of x along the axis]; writes y, of x's shape.
/// \errors also `invalid_argument` for an axis that does not exist
struct bias_add {
  static constexpr std::string_view name = "elementwise.bias_add";
  using reply = void;

  any_tensor x{};
  any_tensor bias{};
  any_tensor y{};
  std::int64_t axis = -1;  ///< a negative one counts from the last

  TROUPE_EXPORT static void describe(description<bias_add>& d);
};

/// The gradient of `bias_add` by bias: dbias = Σ dy over all other axes, in a fixed order. (That by
/// x is dy.)
struct bias_add_backward {
  static constexpr std::string_view name = "elementwise.bias_add_backward";
  using reply = void;

  any_tensor dy{};
  any_tensor dbias{};
  std::int64_t axis = -1;

  TROUPE_EXPORT static void describe(description<bias_add_backward>& d);
};

/// y = x + scale · residual. All have one shape. (Its gradients are dy and scale · dy.)
struct residual_add {
  static constexpr std::string_view name = "elementwise.residual_add";
  using reply = void;

  any_tensor x{};
  any_tensor residual{};
  any_tensor y{};
  double scale = 1;

  TROUPE_EXPORT static void describe(description<residual_add>& d);
};

/// y = x / (1 − p) with probability 1 − p, else 0.
///
/// Element i in row-major order is dropped where u(offset + i) < p. Here u(k) = (b + ½) · 2⁻²³, of
/// the upper 23 bits b of word k of the philox stream of `seed`: every backend drops the same
/// elements. No mask is stored. The gradient is the same request on dy, with the same seed, offset
/// and p. Advance the offset by the number of elements for other elements to be dropped.
struct dropout {
  static constexpr std::string_view name = "elementwise.dropout";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  double p = 0.5;  ///< from 0 to 1
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;

  TROUPE_EXPORT static void describe(description<dropout>& d);
};

}  // namespace troupe::elementwise
