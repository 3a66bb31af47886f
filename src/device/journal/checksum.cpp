#include "device/journal/format.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace troupe::journal {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected

constexpr auto table = [] {
  std::array<std::uint32_t, 256> made{};
  for (std::uint32_t i = 0; i < made.size(); ++i) {
    std::uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? polynomial : 0);
    made[i] = rest;
  }
  return made;
}();

std::uint32_t by_table(const std::byte* from, std::size_t bytes, std::uint32_t rest) noexcept {
  for (std::size_t i = 0; i < bytes; ++i)
    rest = (rest >> 8) ^ table[(rest ^ static_cast<std::uint8_t>(from[i])) & 0xff];
  return rest;
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::uint32_t by_processor(const std::byte* from, std::size_t bytes,
                                                     std::uint32_t rest) noexcept {
  std::uint64_t wide = rest;
  for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    wide = _mm_crc32_u64(wide, word);
    from += sizeof(word);
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (; bytes > 0; --bytes)
    narrow = _mm_crc32_u8(narrow, static_cast<std::uint8_t>(*from++));
  return narrow;
}
#endif

}  // namespace

std::uint32_t checksum_of(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~by_processor(bytes.data(), bytes.size(), ~before);
#endif
  return ~by_table(bytes.data(), bytes.size(), ~before);
}

}  // namespace troupe::journal
