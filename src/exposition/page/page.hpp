#pragma once

#include <string_view>

namespace troupe::telemetry {

/// The page for browsers: one file, which loads nothing else. Its bytes are joined by CMake.
extern const std::string_view page;
/// `Content-Security-Policy` for it: its own script and style, and the stream of this server.
extern const std::string_view page_policy;

}  // namespace troupe::telemetry
