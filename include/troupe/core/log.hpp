#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace troupe {

enum class log_level : std::uint8_t {
  warning,  ///< the source continues
  error,    ///< the source has ended for good
};

/// A failure that was not reported to any code of the program. The views are valid during the call.
struct log_entry {
  log_level level{};
  std::string_view source;  ///< an actor's path, or a device as "device 0"
  std::string_view event;   ///< what happened to it, such as "failed, and is restarted"
  const troupe::error& reason;
};

/// Called on the thread that found the failure, possibly by several threads at once. Exceptions are
/// ignored.
using log_hook = std::function<void(const log_entry&)>;

/// Calls the hook. If it is empty, prints the entry to stderr.
TROUPE_EXPORT void write_log(const log_hook& hook, const log_entry& entry) noexcept;

}  // namespace troupe
