// The text for Prometheus, of facts that no program had.

#include <troupe/telemetry/prometheus_text.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>
#include <string>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

telemetry_snapshot busy(int devices, int operations) {
  telemetry_snapshot made{.version = "1"};
  for (int d = 0; d < devices; ++d) {
    device_telemetry one{.ordinal = d, .backend = "cpu"};
    for (int i = 0; i < operations; ++i) {
      operation_telemetry o{.name = "library.operation_" + std::to_string(i), .done = 10};
      o.failed = {{errc::timed_out, 1}, {errc::device_fault, 2}};
      o.timed.emplace();
      o.timed->count = 2;
      o.timed->duration.observe(20us);
      o.timed->duration.observe(2s);
      one.operations.push_back(std::move(o));
    }
    made.devices.push_back(std::move(one));
  }
  return made;
}

std::size_t series_of(const std::string& text) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('#')) ++count;
  return count;
}

std::uint64_t sum_of(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::uint64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "{")) sum += std::stoull(line.substr(line.rfind(' ')));
  }
  return sum;
}

TEST(Metrics, KeepsBelowFiveThousandSeries) {
  telemetry::prometheus_text text;
  const std::string first = text.write(busy(8, 190));
  EXPECT_LT(series_of(first), 5000);
  EXPECT_NE(first.find("operation=\"other\""), std::string::npos);
  // The sum holds, however operations are added up.
  EXPECT_EQ(sum_of(first, "troupe_requests_total"), 8 * 190 * 13);
  const std::string second = text.write(busy(8, 250));
  EXPECT_EQ(sum_of(second, "troupe_requests_total"), 8 * 250 * 13);
  EXPECT_LT(series_of(second), 5000);
}

TEST(Metrics, HistogramsAreExactAtTheirBounds) {
  telemetry::prometheus_text text;
  const std::string made = text.write(busy(1, 1));
  const std::string name =
      "troupe_request_duration_seconds_bucket{device=\"0\",operation=\"library.operation_0\",le=";
  EXPECT_NE(made.find(name + "\"1.024e-05\"} 0\n"), std::string::npos) << made;
  EXPECT_NE(made.find(name + "\"+Inf\"} 2\n"), std::string::npos);
  // Cumulative, as the format wants it.
  std::istringstream lines(made);
  std::uint64_t last = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const std::uint64_t now = std::stoull(line.substr(line.rfind(' ')));
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(Metrics, EscapesNamesOfOthers) {
  telemetry_snapshot s = busy(1, 1);
  s.devices[0].operations[0].name = "a\"} 1\ntroupe_forged{x=\"\\ \x01 \xff";
  s.devices[0].description.name = std::string(10'000, 'x') + "\r\n";
  telemetry::prometheus_text text;
  const std::string made = text.write(s);
  EXPECT_EQ(made.find("\ntroupe_forged"), std::string::npos);
  EXPECT_NE(made.find(R"(operation="a\"} 1\ntroupe_forged{x=\"\\ ? )"), std::string::npos);
}

TEST(Metrics, NamesEndAsPrometheusWants) {
  telemetry::prometheus_text text;
  const std::string made = text.write(busy(1, 1));
  std::istringstream lines(made);
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    std::istringstream words(line);
    std::string word, name, type;
    words >> word >> word >> name >> type;
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    EXPECT_EQ(name.ends_with("_total"), type == "counter") << name;
  }
  EXPECT_GE(names.size(), 40);
}

}  // namespace
}  // namespace troupe::test
