#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// Steps of optimizers over lists of tensors. Entry i of each list belongs to parameter i, and has
/// its shape. Each tensor has any of the types f64, f32, f16, bf16 and any strides; a step computes
/// in f64 where one of a parameter's tensors is f64, else in f32. Tensors that are written share no
/// element with any other one.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for lists of different
/// lengths and for numbers out of their range
namespace troupe::elementwise {

/// One step of stochastic gradient descent. With g = gradient + weight_decay · parameter:
/// without momentum, parameter −= learning_rate · g. With momentum,
/// velocity = momentum · velocity + (1 − dampening) · g, and parameter −= learning_rate · velocity,
/// or with nesterov learning_rate · (g + momentum · velocity).
///
/// Updates parameters and velocities, reads gradients. Velocities are given if, and only if, there
/// is momentum; they begin as 0.
struct sgd {
  static constexpr std::string_view name = "elementwise.sgd";
  using reply = void;

  std::vector<any_tensor> parameters{};
  std::vector<any_tensor> gradients{};
  std::vector<any_tensor> velocities{};
  double learning_rate = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;

  TROUPE_EXPORT static void describe(description<sgd>& d);
};

/// One step of AdamW. Source: Loshchilov, Hutter, "Decoupled Weight Decay Regularization", 2019.
///
/// m = beta1 · m + (1 − beta1) · g; v = beta2 · v + (1 − beta2) · g²;
/// parameter = parameter · (1 − learning_rate · weight_decay)
///             − learning_rate · m̂ / (√v̂ + eps),
/// with m̂ = m / (1 − beta1^step) and v̂ = v / (1 − beta2^step). Steps count from 1.
///
/// Updates parameters, first_moments (m) and second_moments (v), which begin as 0; reads gradients.
struct adamw {
  static constexpr std::string_view name = "elementwise.adamw";
  using reply = void;

  std::vector<any_tensor> parameters{};
  std::vector<any_tensor> gradients{};
  std::vector<any_tensor> first_moments{};
  std::vector<any_tensor> second_moments{};
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  std::int64_t step = 1;

  TROUPE_EXPORT static void describe(description<adamw>& d);
};

}  // namespace troupe::elementwise
