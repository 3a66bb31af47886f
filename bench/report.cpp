#include "report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace troupe::bench {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string number(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "null";
}

std::optional<double> ratio(const measurement& m) {
  if (!m.reference_value || *m.reference_value == 0) return std::nullopt;
  return m.value / *m.reference_value;
}

std::string json(const measurement& m) {
  return fmt::format(
      R"({{"name": {}, "value": {}, "unit": {}, "reference": {}, "reference_value": {}, "ratio": {}}})",
      quoted(m.name), number(m.value), quoted(m.unit), quoted(m.reference),
      number(m.reference_value), number(ratio(m)));
}

}  // namespace

report::report(const std::string& title) {
  fmt::print("{}\n{:<48} {:>12} {:<8} {:>12} {:>7}  {}\n", title, "", "value", "unit", "reference",
             "ratio", "against");
}

void report::add(measurement m) {
  const auto shown = [](std::optional<double> v) { return v ? fmt::format("{:.4g}", *v) : ""; };
  fmt::print("{:<48} {:>12.4g} {:<8} {:>12} {:>7}  {}\n", m.name, m.value, m.unit,
             shown(m.reference_value), shown(ratio(m)), m.reference);
  std::fflush(stdout);
  lines_.push_back(std::move(m));
}

int report::finish() const {
  if (lines_.empty()) {
    fmt::print(stderr, "nothing was measured\n");
    return 1;
  }
  const char* path = std::getenv("TROUPE_BENCH_JSON");
  if (path == nullptr) return 0;
  std::ofstream file(path);
  file << "[\n";
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    file << "  " << json(lines_[i]) << (i + 1 < lines_.size() ? ",\n" : "\n");
  }
  file << "]\n";
  file.close();
  if (file) return 0;
  fmt::print(stderr, "cannot write {}\n", path);
  return 1;
}

}  // namespace troupe::bench
