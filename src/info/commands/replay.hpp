#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace troupe::info {

/// Replays the journal that the only word names, and shows how it compares.
/// \returns what the program exits with: 0 equal, 1 different, 2 unusable
[[nodiscard]] int replay_journal(
    const std::vector<std::string_view>& words, const std::vector<std::string_view>& options,
    const std::vector<std::pair<std::string_view, std::string_view>>& values);

}  // namespace troupe::info
