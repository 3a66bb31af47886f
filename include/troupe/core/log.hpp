#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace troupe {

struct device_event;

enum class log_level : std::uint8_t {
  debug,    ///< details of normal operation
  info,     ///< normal operation, such as a start, a recovery or a stop that was asked for
  warning,  ///< something failed, and the source continues
  error,    ///< the source has ended for good, or its results may be wrong
};

/// The level's name, such as "warning".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(log_level level) noexcept;

/// A failure of an actor that was not reported to any code of the program, or an event of a device.
/// The views are valid during the call.
struct log_entry {
  log_level level{};
  std::string_view source;      ///< an actor's path, or a device as "device 0"
  std::string_view event;       ///< what happened to it, such as "failed, and is restarted"
  const troupe::error& reason;  ///< without a code (`errc{}`) if nothing has failed
  /// For a device: the event with all its fields (`troupe/device/events.hpp`); else null.
  const device_event* of_device = nullptr;
};

/// Receives log entries. Exceptions are ignored. A failure of an actor arrives on the thread that
/// found it, possibly on several threads at once. Events of devices arrive one at a time on a
/// thread that does nothing else: however long the hook takes, no device waits for it.
using log_hook = std::function<void(const log_entry&)>;

/// Calls the hook. If it is empty, prints warnings and errors to stderr.
TROUPE_EXPORT void write_log(const log_hook& hook, const log_entry& entry) noexcept;

}  // namespace troupe
