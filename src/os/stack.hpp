#pragma once

namespace troupe::os {

/// True if less than half of this thread's stack is left. False also on a stack that is not the
/// thread's own, whose extent is unknown.
[[nodiscard]] bool half_of_stack_is_used() noexcept;

}  // namespace troupe::os
