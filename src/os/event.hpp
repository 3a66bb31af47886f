#pragma once

#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

namespace troupe::os {

/// A descriptor that stays readable until its signal is taken (eventfd). Never waits.
[[nodiscard]] result<unique_fd> create_event();

/// Takes the signal, if there is one. Never waits, even if another process that shares the
/// descriptor makes reads block.
void take_event(const unique_fd& event) noexcept;

/// False for a file, a socket or a pipe: a write to those might block.
[[nodiscard]] bool is_event(const unique_fd& what) noexcept;

}  // namespace troupe::os
