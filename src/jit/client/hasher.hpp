#pragma once

#include <troupe/jit/digest.hpp>

// OpenSSL's low-level functions, which it advises against for programs that may be made to use
// another provider's: they are a few kilobytes of a static library, the others all of it.
#define OPENSSL_SUPPRESS_DEPRECATED  // NOLINT(readability-identifier-naming)
#include <openssl/sha.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::jit {

/// SHA-256 of what comes piece by piece.
class hasher {
 public:
  hasher() noexcept;
  hasher& bytes(std::span<const std::byte> more) noexcept;
  /// With its length, so that no two lists of texts are the same bytes.
  hasher& text(std::string_view more) noexcept;
  hasher& number(std::uint64_t more) noexcept;
  /// Once.
  [[nodiscard]] digest finish() noexcept;

 private:
  SHA256_CTX state_;
};

}  // namespace troupe::jit
