#pragma once

#include <cstddef>

namespace troupe {

/// Copies bytes for a device that reads them next, past the caches: from those of the processor
/// that copies they come to a GPU at half the rate of its link. Visible to whoever sees a later
/// store of this thread.
void copy_for_device(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Copies bytes of a device's, which writes others in their place next: the source stays out of all
/// caches but the first. What lies in the others holds up a GPU that writes there as much.
void copy_from_device(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace troupe
