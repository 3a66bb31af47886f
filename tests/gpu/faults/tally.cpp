#include "tally.hpp"

#include "gpu/json_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace troupe::gpu_test {
namespace {

void keep(std::vector<double>& values, const std::string& line, std::string_view name) {
  const std::string text = text_of(line, name);
  if (!text.empty() && text != "null") values.push_back(std::strtod(text.c_str(), nullptr));
}

std::string percentile(std::vector<double>& values, double part) {
  if (values.empty()) return "-";
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return fmt::format("{:.1f}", values[static_cast<std::size_t>(std::lround(part * last))]);
}

}  // namespace

void tally::add(const std::string& line) {
  ++trials_;
  passed_as_done_ += text_of(line, "passed_as_done") == "true" ? 1 : 0;
  survived_ += text_of(line, "survived") == "true" ? 1 : 0;
  named_ += text_of(line, "named") == "true" ? 1 : 0;
  nameable_ += text_of(line, "named") != "null" ? 1 : 0;
  lost_ += count_of(line, "lost");
  duplicated_ += count_of(line, "duplicated");
  wrong_ += count_of(line, "wrong") + count_of(line, "unexpected");
  aborted_ += count_of(line, "aborted");
  requests_ += count_of(line, "requests");
  keep(error_ms_, line, "error_ms");
  keep(next_ms_, line, "next_ms");
  keep(failover_ms_, line, "failover_ms");
  if (miss_.empty()) miss_ = text_of(line, "miss");
}

std::string tally::head() {
  return fmt::format(
      "{:<20}{:>7}{:>9}{:>7}{:>9}{:>8}{:>5}{:>4}{:>6}{:>10}{:>8}{:>9}{:>8}{:>10}{:>8}", "kind",
      "trials", "survived", "named", "requests", "aborted", "lost", "dup", "wrong", "error p50",
      "p99", "next p50", "p99", "hand p50", "p99 ms");
}

std::string tally::row() {
  const std::string named = nameable_ == 0 ? "-" : fmt::format("{}/{}", named_, nameable_);
  return fmt::format(
      "{:<20}{:>7}{:>9}{:>7}{:>9}{:>8}{:>5}{:>4}{:>6}{:>10}{:>8}{:>9}{:>8}{:>10}{:>8}", kind_,
      trials_, survived_, named, requests_, aborted_, lost_, duplicated_, wrong_,
      percentile(error_ms_, 0.5), percentile(error_ms_, 0.99), percentile(next_ms_, 0.5),
      percentile(next_ms_, 0.99), percentile(failover_ms_, 0.5), percentile(failover_ms_, 0.99));
}

}  // namespace troupe::gpu_test
