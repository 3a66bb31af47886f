#pragma once

#include <cstddef>

namespace troupe {

/// Copies bytes past the caches of the processor that does it: for what a device reads next. What
/// lies modified in a processor's own cache comes to a GPU at half the rate of its link. Visible to
/// whoever sees a later store of this thread.
void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace troupe
