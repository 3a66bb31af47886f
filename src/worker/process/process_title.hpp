#pragma once

#include <string>
#include <string_view>

namespace troupe::worker {

/// An argument for a process that shows `text` in `ps`, as "[text]", and can be rewritten by that
/// process. It must be the last one.
[[nodiscard]] std::string title_argument(std::string_view text);

/// Makes `ps` show `text` as the last argument of this process; one that is too long is cut. Has no
/// effect on a process that was started without a `title_argument`.
void set_title(std::string_view text) noexcept;

}  // namespace troupe::worker
