#pragma once

#include <cstdint>

namespace troupe::jit {

/// Bounds the address space of this process, and makes it end with `out_of_memory_status` if a
/// compiler crashes or aborts for lack of it. Under a sanitizer, which needs more addresses than
/// there is memory, nothing is bounded.
void guard_memory(std::uint64_t bytes) noexcept;

/// True if so little is left that it is the reason for a failure.
[[nodiscard]] bool memory_is_short() noexcept;

}  // namespace troupe::jit
