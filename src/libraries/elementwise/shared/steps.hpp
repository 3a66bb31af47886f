#pragma once

#include <troupe/elementwise/activation.hpp>
#include <troupe/elementwise/cross_entropy.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/norms.hpp>
#include <troupe/elementwise/optimizers.hpp>
#include <troupe/elementwise/reduce.hpp>
#include <troupe/elementwise/rotary.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/elementwise/selection.hpp>
#include <troupe/elementwise/softmax.hpp>

#include <variant>
#include <vector>

/// Named operations as maps and rows. Both backends run them so; an operation has no code of its
/// own in either.
namespace troupe::elementwise {

/// The requests that carry out a named one, in order.
using step = std::variant<map, rows>;
using steps = std::vector<step>;

[[nodiscard]] steps steps_of(const reduce& r);
[[nodiscard]] steps steps_of(const softmax& r);
[[nodiscard]] steps steps_of(const softmax_backward& r);
[[nodiscard]] steps steps_of(const log_softmax& r);
[[nodiscard]] steps steps_of(const log_softmax_backward& r);
[[nodiscard]] steps steps_of(const layer_norm& r);
[[nodiscard]] steps steps_of(const layer_norm_backward& r);
[[nodiscard]] steps steps_of(const rms_norm& r);
[[nodiscard]] steps steps_of(const rms_norm_backward& r);
[[nodiscard]] steps steps_of(const group_norm& r);
[[nodiscard]] steps steps_of(const group_norm_backward& r);
[[nodiscard]] steps steps_of(const instance_norm& r);
[[nodiscard]] steps steps_of(const instance_norm_backward& r);
[[nodiscard]] steps steps_of(const l2_normalize& r);
[[nodiscard]] steps steps_of(const l2_normalize_backward& r);
[[nodiscard]] steps steps_of(const activation& r);
[[nodiscard]] steps steps_of(const activation_backward& r);
[[nodiscard]] steps steps_of(const bias_add& r);
[[nodiscard]] steps steps_of(const bias_add_backward& r);
[[nodiscard]] steps steps_of(const residual_add& r);
[[nodiscard]] steps steps_of(const dropout& r);
[[nodiscard]] steps steps_of(const clamp& r);
[[nodiscard]] steps steps_of(const where& r);
[[nodiscard]] steps steps_of(const compare& r);
[[nodiscard]] steps steps_of(const one_hot& r);
[[nodiscard]] steps steps_of(const arange& r);
[[nodiscard]] steps steps_of(const cross_entropy& r);
[[nodiscard]] steps steps_of(const cross_entropy_backward& r);
[[nodiscard]] steps steps_of(const nll_loss& r);
[[nodiscard]] steps steps_of(const nll_loss_backward& r);
[[nodiscard]] steps steps_of(const rotary_embedding& r);
[[nodiscard]] steps steps_of(const rotary_embedding_backward& r);
[[nodiscard]] steps steps_of(const sgd& r);
[[nodiscard]] steps steps_of(const adamw& r);

}  // namespace troupe::elementwise
