#pragma once

#include <string>
#include <vector>

/// Finds the running programs of this user.
namespace troupe::telemetry {

/// The folder with the sockets of this user's programs; there may be none.
[[nodiscard]] std::string socket_folder();
/// The sockets there that are answered, by path.
[[nodiscard]] std::vector<std::string> live_sockets();
/// Removes the sockets of programs that have ended.
void remove_dead_sockets(const std::string& folder);
/// A socket connected to the one at `path`; -1 with errno. The caller closes it.
[[nodiscard]] int connect_to(const std::string& path);

}  // namespace troupe::telemetry
