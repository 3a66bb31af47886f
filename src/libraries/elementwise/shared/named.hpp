#pragma once

#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/norms.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/elementwise/softmax.hpp>

#include <variant>
#include <vector>

/// Named operations as maps and rows. Both backends run them so; an operation has no code of its
/// own in either.
namespace troupe::elementwise {

/// What a named request is run as, one after the other.
using step = std::variant<map, rows>;
using steps = std::vector<step>;

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

template <class... R>
struct request_list {};

/// Every request that is run as steps.
using named_requests =
    request_list<softmax, softmax_backward, log_softmax, log_softmax_backward, layer_norm,
                 layer_norm_backward, rms_norm, rms_norm_backward, group_norm, group_norm_backward,
                 instance_norm, instance_norm_backward, l2_normalize, l2_normalize_backward>;

}  // namespace troupe::elementwise
