#pragma once

#include <troupe/jit/digest.hpp>

// OpenSSL's low-level functions. It advises against them for programs that may have to use another
// provider; but they are a few kilobytes of a static library, while the others link all of it.
#define OPENSSL_SUPPRESS_DEPRECATED  // NOLINT(readability-identifier-naming)
#include <openssl/sha.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::jit {

/// SHA-256 of data that comes piece by piece.
class hasher {
 public:
  hasher() noexcept;
  hasher& bytes(std::span<const std::byte> more) noexcept;
  /// With its length, so that two lists of texts never have the same bytes.
  hasher& text(std::string_view more) noexcept;
  hasher& number(std::uint64_t more) noexcept;
  /// Call once.
  [[nodiscard]] digest finish() noexcept;

 private:
  SHA256_CTX state_;
};

}  // namespace troupe::jit
