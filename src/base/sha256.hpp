#pragma once

// OpenSSL's low-level functions. It advises against them for programs that may have to use another
// provider; but they are a few kilobytes of a static library, while the others link all of it.
#define OPENSSL_SUPPRESS_DEPRECATED  // NOLINT(readability-identifier-naming)
#include <openssl/sha.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::detail {

/// SHA-256 of data that comes piece by piece. Source: FIPS 180-4.
class sha256 {
 public:
  using digest = std::array<std::uint8_t, 32>;

  sha256() noexcept { ::SHA256_Init(&state_); }
  sha256& bytes(std::span<const std::byte> more) noexcept {
    ::SHA256_Update(&state_, more.data(), more.size());
    return *this;
  }
  sha256& number(std::uint64_t more) noexcept { return bytes(std::as_bytes(std::span(&more, 1))); }
  /// Call once.
  [[nodiscard]] digest finish() noexcept {
    digest made{};
    ::SHA256_Final(made.data(), &state_);
    return made;
  }

 private:
  SHA256_CTX state_;
};

}  // namespace troupe::detail
