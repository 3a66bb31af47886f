#pragma once

#include <troupe/device/device.hpp>
#include <troupe/device/request_graph.hpp>
#include <troupe/request/any_request.hpp>

#include <vector>

namespace troupe {

/// Marks what a request was to overwrite as unwritten: `why` has kept it from being sent, although
/// its caller was told that it would be. Requests that are sent from now on and read it fail, with
/// `why` as their cause, until something overwrites it. For bindings that queue requests.
TROUPE_EXPORT void taint_unsent(const device& on, any_request& r, const error& why);
/// The same for a run of a graph.
TROUPE_EXPORT void taint_unsent(const device& on, const request_graph& graph,
                                const std::vector<graph_argument>& arguments, const error& why);
/// Whether `device::run` would take these arguments. \errors as there
[[nodiscard]] TROUPE_EXPORT result<void> check_unsent(const request_graph& graph,
                                                      const std::vector<graph_argument>& arguments);

}  // namespace troupe
