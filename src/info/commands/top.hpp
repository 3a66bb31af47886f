#pragma once

#include <string_view>

namespace troupe::info {

/// `troupe top`: what a running program shows (`troupe::telemetry::serve`), again each second until
/// it ends or q is pressed. `which` is its PID, the path of its socket, or a URL; empty for the
/// only program there is. Where standard output is no terminal, or with `once`, it is shown once.
/// \returns the exit status: 1 if there is no such program, or several
[[nodiscard]] int show_top(std::string_view which, std::string_view sort, bool once, bool as_json);

}  // namespace troupe::info
