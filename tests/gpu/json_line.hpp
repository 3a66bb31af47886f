#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::gpu_test {

/// One JSON object on one line, field by field.
class json_line {
 public:
  json_line& add(std::string_view name, std::string_view value) {
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c == '\n' ? ' ' : c;
    }
    return put(name, quoted + '"');
  }
  json_line& add(std::string_view name, const char* value) {
    return add(name, std::string_view(value));
  }
  json_line& add(std::string_view name, bool value) { return put(name, value ? "true" : "false"); }
  json_line& add(std::string_view name, std::integral auto value) {
    return put(name, fmt::format("{}", value));
  }
  json_line& add(std::string_view name, double value) {
    return put(name, fmt::format("{:.6g}", value));
  }
  template <class T>
  json_line& add(std::string_view name, const std::optional<T>& value) {
    return value ? add(name, *value) : put(name, "null");
  }
  [[nodiscard]] std::string text() const { return "{" + fields_ + "}"; }

 private:
  json_line& put(std::string_view name, const std::string& value) {
    fields_ += fmt::format("{}\"{}\": {}", fields_.empty() ? "" : ", ", name, value);
    return *this;
  }
  std::string fields_;
};

/// The text of a field of such a line; empty where there is none.
[[nodiscard]] inline std::string text_of(const std::string& line, std::string_view name) {
  const std::string key = fmt::format("\"{}\": ", name);
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  if (line[begin] != '"') return line.substr(begin, line.find_first_of(",}", begin) - begin);
  std::string text;
  for (std::size_t i = begin + 1; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\') ++i;
    text += line[i];
  }
  return text;
}

/// Its number; 0 where there is none.
[[nodiscard]] inline std::int64_t count_of(const std::string& line, std::string_view name) {
  return std::strtoll(text_of(line, name).c_str(), nullptr, 10);
}

}  // namespace troupe::gpu_test
