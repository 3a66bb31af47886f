#pragma once

#include <cerrno>

namespace troupe::os {

/// True if the code means that the system does not offer a call at all: its kernel is older than
/// the call, or a filter of system calls (seccomp, as in containers) refuses it.
[[nodiscard]] inline bool call_is_refused(int code) noexcept {
  return code == ENOSYS || code == EPERM || code == EACCES;
}

}  // namespace troupe::os
