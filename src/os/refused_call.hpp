#pragma once

#include <cerrno>

namespace troupe::os {

/// True when that code says that the system does not do a call at all: its kernel is older than the
/// call, or a filter of system calls (seccomp, as containers have it) keeps it from this process.
[[nodiscard]] inline bool call_is_refused(int code) noexcept {
  return code == ENOSYS || code == EPERM || code == EACCES;
}

}  // namespace troupe::os
