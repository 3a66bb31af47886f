#pragma once

#include <string_view>

namespace troupe::info {

/// `troupe requests [LIBRARY|NAME]`: the requests of all libraries, of one, or one request in full.
/// \returns the exit status: 2 if nothing has that name
[[nodiscard]] int show_requests(std::string_view name, bool json);
/// `troupe requests --index`: the page docs/requests.md.
void show_index();

}  // namespace troupe::info
