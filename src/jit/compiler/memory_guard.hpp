#pragma once

#include <cstdint>

namespace troupe::jit {

/// Bounds the addresses that this process may have, and has it end with `out_of_memory_status`
/// where a compiler that gets no more crashes or aborts. Where the compiler is watched by a
/// sanitizer, which needs more addresses than there is memory, nothing is bounded.
void guard_memory(std::uint64_t bytes) noexcept;

/// True when so little is left that it is the reason for a failure.
[[nodiscard]] bool memory_is_short() noexcept;

}  // namespace troupe::jit
