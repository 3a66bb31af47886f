#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Host memory is registered in pieces that end at multiples of this address, so that whoever must
/// not cross a boundary knows where they are.
inline constexpr std::uint64_t registration_step_bytes = std::uint64_t{32} << 20;

[[nodiscard]] inline std::uint64_t bytes_to_registration_boundary(const std::byte* at) noexcept {
  return registration_step_bytes - reinterpret_cast<std::uintptr_t>(at) % registration_step_bytes;
}

}  // namespace troupe::cuda
