#pragma once

namespace troupe {

/// A kernel has run for so long, as far as events can tell.
void advance_emulated_clock(double ms) noexcept;
/// Whether the caches have been swept since this was last asked.
[[nodiscard]] bool take_emulated_sweep() noexcept;

}  // namespace troupe
