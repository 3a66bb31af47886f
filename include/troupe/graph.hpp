#pragma once

/// Lists of requests that are sent as one: `device::record` and `device::run`.

#include <troupe/device/graph_recorder.hpp>
#include <troupe/device/request_graph.hpp>
#include <troupe/graph/info.hpp>
#include <troupe/graph/run.hpp>
