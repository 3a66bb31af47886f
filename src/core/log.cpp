#include <troupe/core/log.hpp>

#include <fmt/format.h>

#include <cstdio>

namespace troupe {

void write_log(const log_hook& hook, const log_entry& entry) noexcept {
  try {
    if (hook) return hook(entry);
    // One call, so that the lines of two threads do not mix.
    const std::string text = fmt::format("troupe: {}: {} {}: {}\n",
                                         entry.level == log_level::error ? "error" : "warning",
                                         entry.source, entry.event, entry.reason.to_string());
    std::fputs(text.c_str(), stderr);
  } catch (...) {
    // A failure to report must not stop the caller.
  }
}

}  // namespace troupe
