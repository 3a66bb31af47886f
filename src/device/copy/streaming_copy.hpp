#pragma once

#include <cstddef>

namespace troupe {

// A GPU reads bytes from a processor's own caches at half the rate of its link: the bytes that it
// reads next must lie in the shared cache, or in memory.

/// Whether this processor demotes lines of its own caches on request (CLDEMOTE).
[[nodiscard]] bool can_share_lines() noexcept;

/// Copies bytes for a device, into the cache that all processors share if `can_share_lines()`. Uses
/// no memory bandwidth, which the device needs for reading.
void copy_into_shared_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Copies bytes for a device, into memory. Visible to a thread that sees a later store of this one.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Copies bytes of a device, which then overwrites the source: the source stays out of all caches
/// but the first-level one. Lines in the other caches would slow down the GPU's writes as much.
void copy_from_device(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace troupe
