#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// Normalisation. With x̂ the normalised elements, y = x̂ · weight + bias; a weight that is not given
/// is 1, a bias 0. The mean and the variance E[(x − mean)²] are computed in two passes. Squares may
/// be out of f32's range, but those of f64 make the row NaN; sums of elements and distances from
/// the mean may not.
///
/// Types: x, y and their gradients have one type: f64, f32, f16, bf16. Weight, bias and their
/// gradients have the same type, or f32 beside f16 and bf16. Statistics (mean, rstd) are f64 for
/// f64, else f32. f16 and bf16 compute in f32. Any strides. y may be the same view as x, and dx as
/// x or dy.
///
/// Gradients of weight and bias are sums over all other dimensions, in a fixed order.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for a number out of
/// its range
namespace troupe::elementwise {

/// x̂ = (x − mean) · rstd, rstd = 1 / √(variance + eps), along the last dimension. Source: Ba,
/// Kiros, Hinton, "Layer Normalization", 2016.
///
/// Reads x [batch…, n], weight [n], bias [n]; writes y, and both or neither of mean and rstd
/// [batch…].
struct layer_norm {
  static constexpr std::string_view name = "elementwise.layer_norm";
  using reply = void;

  any_tensor x{};
  any_tensor weight{};  ///< may be left out
  any_tensor bias{};    ///< may be left out
  any_tensor y{};
  any_tensor mean{};  ///< may be left out, with rstd
  any_tensor rstd{};
  double eps = 1e-5;  ///< at least 0

  TROUPE_EXPORT static void describe(description<layer_norm>& d);
};

/// The gradient of `layer_norm`. With g = dy · weight:
/// dx = rstd · (g − E[g] − x̂ · E[g · x̂]), dweight = Σ dy · x̂, dbias = Σ dy.
///
/// Reads x, dy, weight, mean and rstd as they are there; writes dx, and dweight and dbias [n] where
/// they are given.
struct layer_norm_backward {
  static constexpr std::string_view name = "elementwise.layer_norm_backward";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor mean{};
  any_tensor rstd{};
  any_tensor weight{};  ///< may be left out
  any_tensor dx{};
  any_tensor dweight{};  ///< may be left out
  any_tensor dbias{};    ///< may be left out

  TROUPE_EXPORT static void describe(description<layer_norm_backward>& d);
};

/// y = x · rstd · weight, rstd = 1 / √(E[x²] + eps), along the last dimension. Source: Zhang,
/// Sennrich, "Root Mean Square Layer Normalization", 2019.
///
/// Reads x [batch…, n], weight [n]; writes y, and rstd [batch…] where it is given.
struct rms_norm {
  static constexpr std::string_view name = "elementwise.rms_norm";
  using reply = void;

  any_tensor x{};
  any_tensor weight{};  ///< may be left out
  any_tensor y{};
  any_tensor rstd{};  ///< may be left out
  double eps = 1e-6;  ///< at least 0

  TROUPE_EXPORT static void describe(description<rms_norm>& d);
};

/// The gradient of `rms_norm`. With g = dy · weight and x̂ = x · rstd:
/// dx = rstd · (g − x̂ · E[g · x̂]), dweight = Σ dy · x̂.
struct rms_norm_backward {
  static constexpr std::string_view name = "elementwise.rms_norm_backward";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor rstd{};
  any_tensor weight{};  ///< may be left out
  any_tensor dx{};
  any_tensor dweight{};  ///< may be left out

  TROUPE_EXPORT static void describe(description<rms_norm_backward>& d);
};

/// `layer_norm` over each group of neighbouring channels and all of space. Source: Wu, He, "Group
/// Normalization", 2018.
///
/// Reads x [n, c, space…], weight [c], bias [c]; writes y, and both or neither of mean and rstd
/// [n, groups]. Space has 0 to 5 dimensions. \errors also `shape_mismatch` where groups does not
/// divide c
struct group_norm {
  static constexpr std::string_view name = "elementwise.group_norm";
  using reply = void;

  any_tensor x{};
  any_tensor weight{};  ///< may be left out
  any_tensor bias{};    ///< may be left out
  any_tensor y{};
  any_tensor mean{};  ///< may be left out, with rstd
  any_tensor rstd{};
  std::int64_t groups = 1;  ///< at least 1
  double eps = 1e-5;        ///< at least 0

  TROUPE_EXPORT static void describe(description<group_norm>& d);
};

/// The gradient of `group_norm`: that of `layer_norm`, with the shapes of `group_norm`.
struct group_norm_backward {
  static constexpr std::string_view name = "elementwise.group_norm_backward";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor mean{};
  any_tensor rstd{};
  any_tensor weight{};  ///< may be left out
  any_tensor dx{};
  any_tensor dweight{};  ///< may be left out
  any_tensor dbias{};    ///< may be left out
  std::int64_t groups = 1;

  TROUPE_EXPORT static void describe(description<group_norm_backward>& d);
};

/// `group_norm` with each channel as a group: mean and rstd are [n, c]. Source: Ulyanov, Vedaldi,
/// Lempitsky, "Instance Normalization", 2016.
struct instance_norm {
  static constexpr std::string_view name = "elementwise.instance_norm";
  using reply = void;

  any_tensor x{};
  any_tensor weight{};  ///< may be left out
  any_tensor bias{};    ///< may be left out
  any_tensor y{};
  any_tensor mean{};  ///< may be left out, with rstd
  any_tensor rstd{};
  double eps = 1e-5;  ///< at least 0

  TROUPE_EXPORT static void describe(description<instance_norm>& d);
};

/// The gradient of `instance_norm`.
struct instance_norm_backward {
  static constexpr std::string_view name = "elementwise.instance_norm_backward";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor mean{};
  any_tensor rstd{};
  any_tensor weight{};  ///< may be left out
  any_tensor dx{};
  any_tensor dweight{};  ///< may be left out
  any_tensor dbias{};    ///< may be left out

  TROUPE_EXPORT static void describe(description<instance_norm_backward>& d);
};

/// y = x / max(√Σx², eps), with the sum along the axis. x and y have one shape, of rank 1 or more.
struct l2_normalize {
  static constexpr std::string_view name = "elementwise.l2_normalize";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  std::int64_t axis = -1;  ///< a negative one counts from the last
  double eps = 1e-12;      ///< at least 0

  TROUPE_EXPORT static void describe(description<l2_normalize>& d);
};

/// The gradient of `l2_normalize`: with l = √Σx², dx = (dy − x · Σ(x · dy) / l²) / l where l > eps,
/// else dy / eps.
struct l2_normalize_backward {
  static constexpr std::string_view name = "elementwise.l2_normalize_backward";
  using reply = void;

  any_tensor x{};
  any_tensor dy{};
  any_tensor dx{};
  std::int64_t axis = -1;
  double eps = 1e-12;  ///< at least 0

  TROUPE_EXPORT static void describe(description<l2_normalize_backward>& d);
};

}  // namespace troupe::elementwise
