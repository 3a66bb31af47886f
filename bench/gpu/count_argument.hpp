#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

namespace troupe::bench {

/// The program's one optional argument, a count from 1; prints the usage and answers nothing for
/// any
/// other arguments.
inline std::optional<int> count_argument(int argc, char** argv, int usual, std::string_view name) {
  if (argc < 2) return usual;
  const std::string_view text = argv[1];
  int count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code == std::errc() && end == text.data() + text.size() && count >= 1 && argc == 2) {
    return count;
  }
  fmt::print(stderr, "usage: {} [{}]\n", argv[0], name);
  return std::nullopt;
}

}  // namespace troupe::bench
