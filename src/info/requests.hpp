#pragma once

#include <string_view>

namespace troupe::info {

/// `troupe requests [LIBRARY|NAME]`: what can be asked, of all libraries, of one, or one request in
/// full. \returns the exit status: 2 where nothing has that name
[[nodiscard]] int show_requests(std::string_view name, bool json);
/// `troupe requests --index`: the page docs/requests.md.
void show_index();

}  // namespace troupe::info
