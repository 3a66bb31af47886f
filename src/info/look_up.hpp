#pragma once

#include "info/entry.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::info {

/// What `ask` finds out in a process of its own, so that a library that hangs or crashes when it is
/// loaded, or a driver, costs an answer and not the program. Waits for it, for a time. Where there
/// is no answer, one entry of that name says why.
[[nodiscard]] std::vector<entry> look_up(const std::string& name,
                                         const std::function<std::vector<entry>()>& ask);

}  // namespace troupe::info
