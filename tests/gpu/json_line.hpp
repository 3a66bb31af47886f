#pragma once

#include <fmt/format.h>

#include <concepts>
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

}  // namespace troupe::gpu_test
