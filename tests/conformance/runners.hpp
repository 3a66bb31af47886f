#pragma once

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
void add_device(isolation which);

}  // namespace troupe::conformance
