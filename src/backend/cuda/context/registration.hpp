#pragma once

#include "backend/cuda/driver.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe::cuda {

/// Host memory is registered in pieces that end at multiples of this address, so that code that
/// must not cross a boundary knows where they are.
inline constexpr std::uint64_t registration_step_bytes = std::uint64_t{32} << 20;

[[nodiscard]] inline std::uint64_t bytes_to_registration_boundary(const std::byte* at) noexcept {
  return registration_step_bytes - reinterpret_cast<std::uintptr_t>(at) % registration_step_bytes;
}

/// Host memory that every context of this process accesses at its own address, until this is
/// destroyed. There may be several of these for one piece: devices of one program share its host
/// memory, and the driver registers it once.
class host_registration {
 public:
  /// \errors the driver's
  [[nodiscard]] static result<host_registration> make(const driver& d, std::byte* at,
                                                      std::uint64_t bytes);
  host_registration(host_registration&& other) noexcept
      : driver_(other.driver_), at_(std::exchange(other.at_, nullptr)) {}
  host_registration& operator=(host_registration&&) = delete;
  ~host_registration();

 private:
  host_registration(const driver& d, std::byte* at) noexcept : driver_(&d), at_(at) {}

  const driver* driver_;
  std::byte* at_;
};

}  // namespace troupe::cuda
