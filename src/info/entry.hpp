#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::info {

/// One finding of `troupe info`: a line for people, and facts for programs.
struct entry {
  std::string name{};
  std::string text{};    ///< printed after the name
  std::string remedy{};  ///< what to do about it; "" if there is nothing to do
  /// By name, each as a JSON value.
  std::vector<std::pair<std::string, std::string>> facts{};

  entry& fact(std::string_view what, std::string_view value);
  entry& fact(std::string_view what, const char* value) {
    return fact(what, std::string_view(value));
  }
  entry& fact(std::string_view what, std::uint64_t value);
  entry& fact(std::string_view what, double value);
  entry& fact(std::string_view what, bool value);
};

/// A group of entries.
struct section {
  std::string key;    ///< for programs
  std::string title;  ///< for people
  std::vector<entry> entries{};
};

[[nodiscard]] std::string as_text(const section& s);
/// A member of an object: `"key": […]`.
[[nodiscard]] std::string as_json(const section& s);

/// For a pipe.
[[nodiscard]] std::string encode(const std::vector<entry>& entries);
[[nodiscard]] std::vector<entry> decode(std::string_view bytes);

}  // namespace troupe::info
