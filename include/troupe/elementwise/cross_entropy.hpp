#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

namespace troupe::elementwise {

/// loss = (1 − s) · (−log p[target]) + s · E[−log p], where p is the softmax of the logits along
/// the last dimension, E the mean over its classes and s the label smoothing. Source of the
/// smoothing: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016.
///
/// Reads logits [batch…, c] (f64, f32, f16, bf16) and targets [batch…] (i32, i64); writes loss
/// [batch…], f64 for f64, else f32. Any strides. A target that is ignore_index has loss 0; any
/// other one outside [0, c) has loss NaN.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for a smoothing
/// outside [0, 1]
struct cross_entropy {
  static constexpr std::string_view name = "elementwise.cross_entropy";
  using reply = void;

  any_tensor logits{};
  any_tensor targets{};
  any_tensor loss{};
  double label_smoothing = 0;
  std::int64_t ignore_index = -100;

  TROUPE_EXPORT static void describe(description<cross_entropy>& d);
};

/// The gradient of `cross_entropy`: dlogits[k] = dloss · (p[k] − (1 − s) · [k = target] − s / c), 0
/// for ignored targets and NaN for targets out of range.
///
/// Reads logits, targets and dloss, of loss's shape and type; writes dlogits, of the shape and type
/// of logits, which may be the same view as logits.
struct cross_entropy_backward {
  static constexpr std::string_view name = "elementwise.cross_entropy_backward";
  using reply = void;

  any_tensor logits{};
  any_tensor targets{};
  any_tensor dloss{};
  any_tensor dlogits{};
  double label_smoothing = 0;
  std::int64_t ignore_index = -100;

  TROUPE_EXPORT static void describe(description<cross_entropy_backward>& d);
};

}  // namespace troupe::elementwise
