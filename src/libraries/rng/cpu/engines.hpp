#pragma once

#include <cstdint>
#include <random>

/// The generators of the CPU backend that make their words one after the other.
namespace troupe::cpu {

/// G. Marsaglia, "Xorshift RNGs", 2003: xorwow, with a state drawn by philox from the seed.
class xorwow {
 public:
  explicit xorwow(std::uint64_t seed) noexcept;
  std::uint32_t operator()() noexcept;
  /// As if so many words had been drawn; takes microseconds, however many.
  void discard(std::uint64_t count);

  struct bits {
    std::uint32_t word[5] = {};
  };

 private:
  bits state_;
  std::uint32_t weyl_;
};

/// P. L'Ecuyer, "Good Parameters and Implementations for Combined Multiple Recursive Random Number
/// Generators", 1999: MRG32k3a, scaled from its 4 294 967 087 values to 32 bits.
class mrg32k3a {
 public:
  /// With a state drawn by philox from the seed.
  explicit mrg32k3a(std::uint64_t seed) noexcept;
  /// With all six words of the state equal, as in published figures.
  static mrg32k3a published(std::uint32_t word) noexcept;

  std::uint32_t operator()() noexcept;
  /// The number that becomes a word, 1 … 4 294 967 087.
  std::uint64_t number() noexcept;
  void discard(std::uint64_t count) noexcept;

 private:
  mrg32k3a() = default;
  std::uint64_t first_[3] = {};
  std::uint64_t second_[3] = {};
};

/// M. Matsumoto, T. Nishimura, "Mersenne Twister", 1998, of period 2^11213 − 1, which is that of
/// MTGP32; the parameters are those known as mt11213b.
using mt11213b =
    std::mersenne_twister_engine<std::uint_fast32_t, 32, 351, 175, 19, 0xccab8ee7, 11, 0xffffffff,
                                 7, 0x31b6ab00, 15, 0xffe50000, 17, 1812433253>;

}  // namespace troupe::cpu
