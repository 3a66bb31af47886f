#pragma once

#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

namespace troupe::os {

/// A descriptor that can be polled until what was signalled is taken (eventfd). Never waits.
[[nodiscard]] result<unique_fd> create_event();

/// Takes what was signalled, if anything. Never waits either where another process that shares the
/// descriptor wants reads to wait.
void take_event(const unique_fd& event) noexcept;

/// False for what is no event but a file, a socket, a pipe: a write to those might wait.
[[nodiscard]] bool is_event(const unique_fd& what) noexcept;

}  // namespace troupe::os
