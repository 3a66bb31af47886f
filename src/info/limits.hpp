#pragma once

#include "info/entry.hpp"
#include "request/vendor_limit.hpp"

#include <span>

namespace troupe::info {

/// The rows of each file src/libraries/<library>/<part>/limits.hpp; they need no plugin.
[[nodiscard]] std::span<const std::span<const vendor_limit>> limit_tables();

/// All rows: the cases that vendors' libraries are given, and why.
[[nodiscard]] section limits();

}  // namespace troupe::info
