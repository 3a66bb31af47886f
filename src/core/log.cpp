#include <troupe/core/log.hpp>

#include <fmt/format.h>

#include <cstdio>

namespace troupe {

std::string_view to_string(log_level level) noexcept {
  switch (level) {
    case log_level::debug:
      return "debug";
    case log_level::info:
      return "info";
    case log_level::warning:
      return "warning";
    case log_level::error:
      return "error";
  }
  return "unknown";
}

void write_log(const log_hook& hook, const log_entry& entry) noexcept {
  try {
    if (hook) return hook(entry);
    if (entry.level < log_level::warning) return;
    const bool has_reason = entry.reason.code != errc{};
    // One call, so that the lines of two threads do not mix.
    const std::string text =
        fmt::format("troupe: {}: {} {}{}{}\n", to_string(entry.level), entry.source, entry.event,
                    has_reason ? ": " : "", has_reason ? entry.reason.to_string() : "");
    std::fputs(text.c_str(), stderr);
  } catch (...) {
    // A failure to report must not stop the caller.
  }
}

}  // namespace troupe
