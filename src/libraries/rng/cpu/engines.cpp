#include "libraries/rng/cpu/engines.hpp"

#include "libraries/rng/shared/philox.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace troupe::cpu {
namespace {

using rng::philox_block;
using rng::words;

// Xorwow's bits are a linear map of the bits before, so a jump is a product of powers of that map.
constexpr std::size_t state_bits = 160;
using linear_map = std::array<xorwow::bits, state_bits>;  // the image of each bit

void add(xorwow::bits& to, const xorwow::bits& other) noexcept {
  for (std::size_t i = 0; i < 5; ++i)
    to.word[i] ^= other.word[i];
}

xorwow::bits image(const linear_map& map, const xorwow::bits& of) noexcept {
  xorwow::bits sum;
  for (std::size_t bit = 0; bit < state_bits; ++bit) {
    if ((of.word[bit / 32] >> (bit % 32) & 1) != 0) add(sum, map[bit]);
  }
  return sum;
}

void step(xorwow::bits& state) noexcept {
  auto& x = state.word;
  const std::uint32_t t = x[0] ^ x[0] >> 2;
  std::copy(x + 1, x + 5, x);
  x[4] = (x[3] ^ x[3] << 4) ^ (t ^ t << 1);
}

/// The maps of 2^i steps.
const std::vector<linear_map>& jumps() {
  static const std::vector<linear_map> all = [] {
    std::vector<linear_map> made(63);
    for (std::size_t bit = 0; bit < state_bits; ++bit) {
      made[0][bit].word[bit / 32] = std::uint32_t{1} << (bit % 32);
      step(made[0][bit]);
    }
    for (std::size_t i = 1; i < made.size(); ++i) {
      for (std::size_t bit = 0; bit < state_bits; ++bit)
        made[i][bit] = image(made[i - 1], made[i - 1][bit]);
    }
    return made;
  }();
  return all;
}

// Separates the states of different generators of one seed: a subsequence that no stream of philox
// itself is likely to have.
constexpr std::uint64_t seeding = 0x7365656469'6e6700;

constexpr std::uint64_t m1 = 4294967087;
constexpr std::uint64_t m2 = 4294944443;
using matrix = std::array<std::array<std::uint64_t, 3>, 3>;
constexpr matrix a1{{{0, 1, 0}, {0, 0, 1}, {m1 - 810728, 1403580, 0}}};
constexpr matrix a2{{{0, 1, 0}, {0, 0, 1}, {m2 - 1370589, 0, 527612}}};

matrix product(const matrix& a, const matrix& b, std::uint64_t m) noexcept {
  matrix c{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k)
        c[i][j] = (c[i][j] + a[i][k] * b[k][j] % m) % m;
    }
  }
  return c;
}

void jump(std::uint64_t (&state)[3], matrix power, std::uint64_t count, std::uint64_t m) noexcept {
  for (; count != 0; count >>= 1, power = product(power, power, m)) {
    if ((count & 1) == 0) continue;
    std::uint64_t next[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k)
        next[i] = (next[i] + power[i][k] * state[k] % m) % m;
    }
    std::copy_n(next, 3, state);
  }
}

}  // namespace

xorwow::xorwow(std::uint64_t seed) noexcept {
  const words<4> first = philox_block(seed, seeding, 0);
  const words<4> second = philox_block(seed, seeding, 1);
  std::copy_n(first.word, 4, state_.word);
  state_.word[4] = second.word[0] | 1;  // a state of zeros would stay one
  weyl_ = second.word[1];
}

std::uint32_t xorwow::operator()() noexcept {
  step(state_);
  weyl_ += 362437;
  return state_.word[4] + weyl_;
}

void xorwow::discard(std::uint64_t count) {
  weyl_ += static_cast<std::uint32_t>(count) * 362437u;
  for (std::size_t i = 0; count != 0; ++i, count >>= 1) {
    if ((count & 1) != 0) state_ = image(jumps()[i], state_);
  }
}

mrg32k3a::mrg32k3a(std::uint64_t seed) noexcept {
  const words<4> first = philox_block(seed, seeding, 2);
  const words<4> second = philox_block(seed, seeding, 3);
  for (int i = 0; i < 3; ++i) {
    first_[i] = first.word[i] % (m1 - 1) + 1;
    second_[i] = second.word[i] % (m2 - 1) + 1;
  }
}

mrg32k3a mrg32k3a::published(std::uint32_t word) noexcept {
  mrg32k3a made;
  std::fill_n(made.first_, 3, word);
  std::fill_n(made.second_, 3, word);
  return made;
}

std::uint64_t mrg32k3a::number() noexcept {
  const std::uint64_t x = (a1[2][0] * first_[0] % m1 + a1[2][1] * first_[1] % m1) % m1;
  const std::uint64_t y = (a2[2][0] * second_[0] % m2 + a2[2][2] * second_[2] % m2) % m2;
  std::copy(first_ + 1, first_ + 3, first_);
  std::copy(second_ + 1, second_ + 3, second_);
  first_[2] = x;
  second_[2] = y;
  return x > y ? x - y : x + m1 - y;
}

std::uint32_t mrg32k3a::operator()() noexcept {
  return static_cast<std::uint32_t>(((number() - 1) << 32) / m1);
}

void mrg32k3a::discard(std::uint64_t count) noexcept {
  jump(first_, a1, count, m1);
  jump(second_, a2, count, m2);
}

}  // namespace troupe::cpu
