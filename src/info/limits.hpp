#pragma once

#include "info/entry.hpp"
#include "request/vendor_limit.hpp"

#include <span>

namespace troupe::info {

/// The rows of each file src/libraries/<library>/<part>/limits.hpp, whatever is installed here.
[[nodiscard]] std::span<const std::span<const vendor_limit>> limit_tables();

/// What vendors' libraries are given, and why.
[[nodiscard]] section limits();

}  // namespace troupe::info
