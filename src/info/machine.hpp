#pragma once

#include "info/entry.hpp"

#include <vector>

namespace troupe::info {

/// The resources of the machine that this process may use.
[[nodiscard]] std::vector<entry> machine();

[[nodiscard]] std::string gibibytes(std::uint64_t bytes);

}  // namespace troupe::info
