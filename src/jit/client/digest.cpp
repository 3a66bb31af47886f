#include "jit/client/hasher.hpp"

#include <fmt/format.h>

namespace troupe::jit {

digest digest_of(std::span<const std::byte> bytes) noexcept {
  hasher h;
  h.bytes(bytes);
  return h.finish();
}

std::string to_string(const digest& d) {
  std::string text;
  for (const std::uint8_t byte : d.bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

hasher::hasher() noexcept { ::SHA256_Init(&state_); }

hasher& hasher::bytes(std::span<const std::byte> more) noexcept {
  ::SHA256_Update(&state_, more.data(), more.size());
  return *this;
}

hasher& hasher::text(std::string_view more) noexcept {
  number(more.size());
  return bytes(std::as_bytes(std::span(more)));
}

hasher& hasher::number(std::uint64_t more) noexcept {
  return bytes(std::as_bytes(std::span(&more, 1)));
}

digest hasher::finish() noexcept {
  digest made;
  ::SHA256_Final(made.bytes.data(), &state_);
  return made;
}

}  // namespace troupe::jit
