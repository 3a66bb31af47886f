#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// Losses of classes, with weights of classes, targets that do not count, and means over those that
/// do.
///
/// Class k has the weight w[k], 1 without `weights`. Losses, weights, means and totals are f64 for
/// f64, else f32. Any strides.
///
/// `total` [1] is the sum of w[target] over the targets that are not `ignore_index`: their number
/// without weights. `mean` [1], which is given with `total` only, is the sum of all losses by that
/// total: NaN if no target counts. A gradient with `total` is that of the mean: it is divided by
/// it. Its dloss is then the gradient of the mean, for each target; a view with stride 0 will do.
///
/// For the target `ignore_index` loss and gradient are 0; for any other target outside of [0,
/// c) they are NaN, and so is the mean; the total then means nothing.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for a smoothing
/// outside [0, 1], and for a mean without total
namespace troupe::elementwise {

/// loss = (1 − s) · w[target] · (−log p[target]) + s / c · Σ w[k] · (−log p[k]), where p is the
/// softmax of the logits along the last dimension and s the label smoothing. Source of the
/// smoothing: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016.
///
/// Reads logits [batch…, c] (f64, f32, f16, bf16), targets [batch…] (i32, i64) and weights [c] if
/// given; writes loss [batch…], and total and mean if given.
struct cross_entropy {
  static constexpr std::string_view name = "elementwise.cross_entropy";
  using reply = void;

  any_tensor logits{};
  any_tensor targets{};
  any_tensor loss{};
  double label_smoothing = 0;
  std::int64_t ignore_index = -100;
  any_tensor weights{};  ///< may be left out
  any_tensor total{};    ///< may be left out
  any_tensor mean{};     ///< may be left out

  TROUPE_EXPORT static void describe(description<cross_entropy>& d);
};

/// The gradient of `cross_entropy`: dlogits[k] = dloss · ((1 − s) · w[target] · (p[k] − [k =
/// target]) + s / c · (p[k] · Σ w − w[k])).
///
/// Reads logits, targets, dloss, of loss's shape and type, and weights and total if given; writes
/// dlogits, of the shape and type of logits, which may be the same view as logits.
struct cross_entropy_backward {
  static constexpr std::string_view name = "elementwise.cross_entropy_backward";
  using reply = void;

  any_tensor logits{};
  any_tensor targets{};
  any_tensor dloss{};
  any_tensor dlogits{};
  double label_smoothing = 0;
  std::int64_t ignore_index = -100;
  any_tensor weights{};  ///< may be left out
  any_tensor total{};    ///< may be left out

  TROUPE_EXPORT static void describe(description<cross_entropy_backward>& d);
};

/// loss = −w[target] · x[target], the negative log likelihood of logarithms of probabilities.
///
/// Reads x [batch…, c] (f64, f32, f16, bf16), targets [batch…] (i32, i64) and weights [c] if given;
/// writes loss [batch…], and total and mean if given.
struct nll_loss {
  static constexpr std::string_view name = "elementwise.nll_loss";
  using reply = void;

  any_tensor x{};
  any_tensor targets{};
  any_tensor loss{};
  std::int64_t ignore_index = -100;
  any_tensor weights{};  ///< may be left out
  any_tensor total{};    ///< may be left out
  any_tensor mean{};     ///< may be left out

  TROUPE_EXPORT static void describe(description<nll_loss>& d);
};

/// The gradient of `nll_loss`: dx[k] = −dloss · w[k] where k is the target, else 0.
///
/// Reads targets, dloss [batch…], and weights and total if given; writes dx [batch…, c].
struct nll_loss_backward {
  static constexpr std::string_view name = "elementwise.nll_loss_backward";
  using reply = void;

  any_tensor targets{};
  any_tensor dloss{};
  any_tensor dx{};
  std::int64_t ignore_index = -100;
  any_tensor weights{};  ///< may be left out
  any_tensor total{};    ///< may be left out

  TROUPE_EXPORT static void describe(description<nll_loss_backward>& d);
};

}  // namespace troupe::elementwise
