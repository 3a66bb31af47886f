#pragma once

#include "info/entry.hpp"

#include <vector>

namespace troupe::info {

/// What this process may use of the machine.
[[nodiscard]] std::vector<entry> machine();

[[nodiscard]] std::string gibibytes(std::uint64_t bytes);

}  // namespace troupe::info
