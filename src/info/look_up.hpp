#pragma once

#include "info/entry.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::info {

/// Runs `ask` in a process of its own, so that a library or driver that hangs or crashes when it is
/// loaded costs an answer and not the program. Waits for it, for a limited time. If there is no
/// answer, a single entry of that name says why.
[[nodiscard]] std::vector<entry> look_up(const std::string& name,
                                         const std::function<std::vector<entry>()>& ask);

}  // namespace troupe::info
