#pragma once

#include <string_view>

namespace troupe::info {

/// `troupe top` prints the text of a running program (`troupe::telemetry::serve`) each second until
/// the program ends or q is pressed. `which` is its PID, the path of its socket, or a URL; empty
/// for the only program there is. With `once`, or if standard output is no terminal, it is printed
/// once.
/// \returns the exit status: 1 if there is no such program, or several
[[nodiscard]] int show_top(std::string_view which, std::string_view sort, bool once, bool as_json);

}  // namespace troupe::info
