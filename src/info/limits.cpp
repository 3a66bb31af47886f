#include "info/limits.hpp"

#include <fmt/format.h>

namespace troupe::info {
namespace {

entry as_entry(const vendor_limit& row) {
  const std::string versions = row.to.empty() ? fmt::format("{} and later", row.from)
                                              : fmt::format("{} to {}", row.from, row.to);
  entry one{.name = std::string(row.name)};
  one.text =
      fmt::format("{} {}\n    given  {}\n    seen   {}\n    {}  {}", row.library, versions,
                  row.condition, row.evidence, row.can_be_lifted ? "tried" : "kept ", row.test);
  one.fact("library", row.library).fact("from", row.from).fact("to", row.to);
  one.fact("condition", row.condition).fact("evidence", row.evidence).fact("test", row.test);
  return one.fact("can_be_lifted", row.can_be_lifted);
}

}  // namespace

section limits() {
  section s{
      .key = "limits",
      .title = "Limits of vendors' libraries; ./dev gpu-test limits lifts those with \"tried\""};
  for (const std::span<const vendor_limit> table : limit_tables()) {
    for (const vendor_limit& row : table)
      s.entries.push_back(as_entry(row));
  }
  return s;
}

}  // namespace troupe::info
