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
  if (m.ratio) return m.ratio;
  if (!m.reference_value || *m.reference_value == 0) return std::nullopt;
  return m.value / *m.reference_value;
}

std::string text(const target& t) {
  return fmt::format("{}{} {:g}", t.what == target::subject::ratio ? "ratio " : "",
                     t.at_most ? "<=" : ">=", t.limit);
}

bool met(const measurement& m) {
  const target& t = *m.target;
  const auto subject = t.what == target::subject::ratio ? ratio(m) : m.value;
  return subject && (t.at_most ? *subject <= t.limit : *subject >= t.limit);
}

std::string json(const measurement& m) {
  const std::string aim =
      m.target ? fmt::format(R"(, "target": {}, "met": {})", quoted(text(*m.target)), met(m)) : "";
  return fmt::format(
      R"({{"name": {}, "value": {}, "unit": {}, "reference": {}, "reference_value": {}, "ratio": {}{}}})",
      quoted(m.name), number(m.value), quoted(m.unit), quoted(m.reference),
      number(m.reference_value), number(ratio(m)), aim);
}

}  // namespace

report::report(const std::string& title) {
  fmt::print("{}\n{:<62} {:>12} {:<8} {:>12} {:>7}  {}\n", title, "", "value", "unit", "reference",
             "ratio", "against");
}

void report::add(measurement m) {
  const auto shown = [](std::optional<double> v) { return v ? fmt::format("{:.4g}", *v) : ""; };
  const std::string verdict =
      m.target ? fmt::format("  {} {}", text(*m.target), met(m) ? "ok" : "MISSED") : "";
  fmt::print("{:<62} {:>12.4g} {:<8} {:>12} {:>7}  {}{}\n", m.name, m.value, m.unit,
             shown(m.reference_value), shown(ratio(m)), m.reference, verdict);
  std::fflush(stdout);
  lines_.push_back(std::move(m));
  (void)write();
}

void report::could_not_measure(const std::string& name, const std::string& why) {
  fmt::print("{:<62} NOT MEASURED: {}\n", name, why);
  std::fflush(stdout);
  incomplete_ = true;
}

int report::finish() const {
  long aims = 0;
  long missed = 0;
  for (const measurement& m : lines_) {
    if (!m.target) continue;
    ++aims;
    if (!met(m)) ++missed;
  }
  if (aims != 0) fmt::print("{} of {} targets met, {} MISSED\n", aims - missed, aims, missed);
  if (lines_.empty()) {
    fmt::print(stderr, "nothing was measured\n");
    return 1;
  }
  return write() && !incomplete_ ? 0 : 1;
}

// Written anew with each line, so that nothing is lost if the program is cut short.
bool report::write() const {
  const char* path = std::getenv("TROUPE_BENCH_JSON");
  if (path == nullptr) return true;
  std::ofstream file(path);
  file << "[\n";
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    file << "  " << json(lines_[i]) << (i + 1 < lines_.size() ? ",\n" : "\n");
  }
  file << "]\n";
  file.close();
  if (!file) fmt::print(stderr, "cannot write {}\n", path);
  return static_cast<bool>(file);
}

}  // namespace troupe::bench
