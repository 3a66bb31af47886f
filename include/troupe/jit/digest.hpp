#pragma once

#include <troupe/base/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace troupe::jit {

/// The SHA-256 of some bytes. It identifies kernel images and verifies them before use.
struct digest {
  static constexpr std::size_t size = 32;

  std::array<std::uint8_t, size> bytes{};

  friend bool operator==(const digest&, const digest&) = default;
};

/// Source: FIPS 180-4.
[[nodiscard]] TROUPE_EXPORT digest digest_of(std::span<const std::byte> bytes) noexcept;

/// 64 hexadecimal digits.
[[nodiscard]] TROUPE_EXPORT std::string to_string(const digest& d);

}  // namespace troupe::jit
