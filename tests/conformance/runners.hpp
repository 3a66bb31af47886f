#pragma once

#include "recorded_check.hpp"
#include "runner.hpp"

#include <troupe/device/config.hpp>

#include <memory>

namespace troupe::conformance {

/// In the thread of the test: direct_runner.cpp.
[[nodiscard]] std::unique_ptr<runner> make_direct_runner();

/// On the program's one device, which is there while the tests run: device_runner.cpp.
/// Precondition: `add_device` was called before them.
[[nodiscard]] std::unique_ptr<runner> make_device_runner();
[[nodiscard]] std::unique_ptr<runner> make_device_runner_on(const device& own);
/// `recorded`: each request runs in a graph, too (`recorded_check`).
void add_device(isolation which, bool recorded = false);

}  // namespace troupe::conformance
