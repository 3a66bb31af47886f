#pragma once

#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/plugin/executor.hpp>

namespace troupe::cpu {

/// Runs a valid request.
[[nodiscard]] result<void> run_elementwise(const elementwise::map& r, lane_context& where);
[[nodiscard]] result<void> run_elementwise(const elementwise::rows& r, lane_context& where);

}  // namespace troupe::cpu
