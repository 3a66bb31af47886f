#pragma once

#include <cstddef>
#include <cstdint>

/// The random numbers of both backends. All of it is constexpr, so that kernels run the very same
/// code, and it uses only operations of integers and +, −, ×, ÷ and √ of f64, which are rounded the
/// same way everywhere: so both backends give the same bits. Sources that include it must be
/// compiled without contraction of products and sums (-ffp-contract=off, --fmad=false).
namespace troupe::rng {

/// Random bits for one value, the least significant word first.
template <std::size_t Count>
struct words {
  std::uint32_t word[Count] = {};

  /// The most significant bits.
  [[nodiscard]] constexpr std::uint32_t top32() const noexcept { return word[Count - 1]; }
  [[nodiscard]] constexpr std::uint64_t top64() const noexcept {
    static_assert(Count >= 2);
    return std::uint64_t{word[Count - 1]} << 32 | word[Count - 2];
  }
};

/// The 64 bits of a product, in halves.
struct wide_product {
  std::uint32_t low;
  std::uint32_t high;
};
constexpr wide_product multiply_wide(std::uint32_t a, std::uint32_t b) noexcept {
#ifdef __CUDA_ARCH__
  return {a * b, __umulhi(a, b)};  // the compiler would add up the upper halves of a 64-bit product
#else
  const std::uint64_t product = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(product), static_cast<std::uint32_t>(product >> 32)};
#endif
}

/// Philox4x32-10 of a counter under a key. Source: J. K. Salmon, M. A. Moraes, R. O. Dror,
/// D. E. Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011.
constexpr words<4> philox(words<4> counter, std::uint64_t key) noexcept {
  auto low = static_cast<std::uint32_t>(key);
  auto high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const wide_product first = multiply_wide(0xD2511F53u, counter.word[0]);
    const wide_product second = multiply_wide(0xCD9E8D57u, counter.word[2]);
    counter = {second.high ^ counter.word[1] ^ low, second.low, first.high ^ counter.word[3] ^ high,
               first.low};
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  return counter;
}

/// The block of four words with that number of a stream of the library: the number and the
/// subsequence are the counter, the seed is the key. cuRAND's device functions have the same order.
constexpr words<4> philox_block(std::uint64_t seed, std::uint64_t subsequence,
                                std::uint64_t number) noexcept {
  return philox(
      {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
       static_cast<std::uint32_t>(subsequence), static_cast<std::uint32_t>(subsequence >> 32)},
      seed);
}

/// An unlimited supply of words for one element that uses rejection: a philox stream of its own,
/// numbered by the four words it was given.
class ticket_stream {
 public:
  constexpr explicit ticket_stream(const words<4>& ticket) noexcept
      : key_(std::uint64_t{ticket.word[1]} << 32 | ticket.word[0]),
        low_counter_(ticket.word[2]),
        high_counter_(ticket.word[3]) {}

  constexpr words<4> next() noexcept {
    return philox({static_cast<std::uint32_t>(number_), static_cast<std::uint32_t>(number_++ >> 32),
                   low_counter_, high_counter_},
                  key_);
  }

 private:
  std::uint64_t key_;
  std::uint32_t low_counter_;  // the upper half's
  std::uint32_t high_counter_;
  std::uint64_t number_ = 0;
};

/// 64 bits of a block, and the 64 others.
constexpr std::uint64_t first_half(const words<4>& block) noexcept {
  return std::uint64_t{block.word[1]} << 32 | block.word[0];
}
constexpr std::uint64_t second_half(const words<4>& block) noexcept { return block.top64(); }

}  // namespace troupe::rng
