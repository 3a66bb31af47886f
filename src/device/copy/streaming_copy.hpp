#pragma once

#include <cstddef>

namespace troupe {

// From a processor's own caches bytes come to a GPU at half the rate of its link: what it reads
// next must lie in the cache that all processors share, or in memory.

/// Whether this processor gives up lines of its own caches when told to (CLDEMOTE).
[[nodiscard]] bool can_share_lines() noexcept;

/// Copies bytes for a device, into the cache that all processors share where `can_share_lines()`.
/// Takes nothing from the bandwidth of memory, which the device reads with.
void copy_into_shared_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Copies bytes for a device, into memory. Visible to whoever sees a later store of this thread.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Copies bytes of a device's, which writes others in their place next: the source stays out of all
/// caches but the first. What lies in the others holds up a GPU that writes there as much.
void copy_from_device(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace troupe
