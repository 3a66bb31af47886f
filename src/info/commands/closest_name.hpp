#pragma once

#include <ranges>
#include <string>
#include <string_view>

namespace troupe::info {

/// How many letters must be inserted, removed or replaced to make one word of the other.
[[nodiscard]] std::size_t edits_between(std::string_view a, std::string_view b);

/// For the end of a message about an unknown name: "; did you mean blas.gemm?", or nothing if no
/// known name is close.
template <std::ranges::input_range Names>
[[nodiscard]] std::string did_you_mean(std::string_view word, Names&& known) {
  std::size_t least = 2 * (word.size() / 3 + 2);
  std::string text;
  for (const std::string_view name : known) {
    // A longer name that begins so is more likely than another one as close.
    const std::size_t distance = 2 * edits_between(word, name) + (name.starts_with(word) ? 0 : 1);
    if (distance >= least) continue;
    least = distance;
    text = "; did you mean " + std::string(name) + "?";
  }
  return text;
}

}  // namespace troupe::info
