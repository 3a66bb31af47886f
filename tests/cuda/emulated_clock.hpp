#pragma once

namespace troupe {

/// A kernel has run for so long, as far as events can tell.
void advance_emulated_clock(double ms) noexcept;

}  // namespace troupe
