#include "streams.hpp"

#include <troupe/rng/bits.hpp>
#include <troupe/rng/permutation.hpp>

#include <bit>

namespace troupe::conformance {
namespace {

using rng::generator_type;

constexpr dtype bit_types[] = {dtype::u32, dtype::u64};
const auto any_bits = [](scene&) { return rng::bits{}; };

bool of_32_bits(generator_type type) {
  return type == generator_type::sobol32 || type == generator_type::scrambled_sobol32;
}

std::vector<std::uint32_t> words_of(const rng::position& from, std::int64_t count) {
  scene s;
  auto& to = s.vector(dtype::u32, count);
  s.run(rng::bits{.to = to.view, .from = from});
  const std::vector<std::byte> bytes = s.bytes_now(to);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

TEST(RngBits, PhiloxWordsAreThoseOfTheReference) {
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{3}, std::int64_t{1} << 40}) {
    for (const std::uint64_t subsequence : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      const rng::position from{
          .seed = 0xdeadbeef01234567, .subsequence = subsequence, .offset = offset};
      const std::vector<std::uint32_t> found = words_of(from, 1037);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i],
                  reference_word(from.seed, subsequence, static_cast<std::uint64_t>(offset) + i))
            << "word " << i << " from " << offset;
      }
    }
  }
}

TEST(RngBits, WideOnesAreTwoWordsTheLowerFirst) {
  for (const generator_type generator : pseudorandom) {
    scene s;
    const rng::position from{.type = generator, .seed = 11, .offset = 9};
    auto& to = s.vector(dtype::u64, 51);
    s.run(rng::bits{.to = to.view, .from = from});
    const std::vector<std::byte> wide = s.bytes_now(to);
    std::vector<std::uint32_t> words(102);
    std::memcpy(words.data(), wide.data(), wide.size());
    EXPECT_EQ(words, words_of(from, 102)) << to_string(generator);
  }
}

TEST(RngBits, EveryGeneratorGoesOnWhereItStopped) {
  for (const dtype type : bit_types) {
    for (const generator_type generator : pseudorandom)
      expect_any_split(type, generator, any_bits);
    for (const generator_type generator : quasirandom) {
      if (type == dtype::u32 || !of_32_bits(generator)) expect_any_split(type, generator, any_bits);
    }
  }
}

TEST(RngBits, FollowRowMajorOrderWhateverTheStrides) {
  for (const dtype type : bit_types) {
    for (const generator_type generator : pseudorandom)
      expect_row_major_order(type, generator, any_bits);
    for (const generator_type generator : quasirandom) {
      if (type == dtype::u32 || !of_32_bits(generator)) {
        expect_row_major_order(type, generator, any_bits);
      }
    }
  }
}

TEST(RngBits, AreThoseOfTheCpuBackend) {
  for (const dtype type : bit_types)
    expect_bits_of_the_cpu(type, any_bits);
}

// Pieces far apart, in an order that no generator can simply walk, against one long piece.
TEST(RngBits, EveryPlaceGivesTheSameWordsHoweverItIsReached) {
  constexpr std::int64_t length = 3'300'000;
  for (const generator_type generator : pseudorandom) {
    const std::vector<std::uint32_t> whole = words_of({.type = generator, .seed = 5}, length);
    for (const std::int64_t offset :
         {std::int64_t{2'500'001}, std::int64_t{1'048'570}, std::int64_t{17}, length - 1009}) {
      const std::vector<std::uint32_t> piece =
          words_of({.type = generator, .seed = 5, .offset = offset}, 1009);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + offset))
          << to_string(generator) << " at " << offset;
    }
  }
}

TEST(RngBits, SeedsAndSubsequencesAreStreamsOfTheirOwn) {
  for (const generator_type generator : pseudorandom) {
    const auto one = words_of({.type = generator, .seed = 1}, 64);
    EXPECT_NE(words_of({.type = generator, .seed = 2}, 64), one) << to_string(generator);
    EXPECT_NE(words_of({.type = generator, .seed = 1 + (std::uint64_t{1} << 32)}, 64), one)
        << to_string(generator);
  }
  EXPECT_NE(words_of({.seed = 1, .subsequence = 1}, 64), words_of({.seed = 1}, 64));
  const auto scrambled = [](std::uint64_t seed) {
    return words_of({.type = generator_type::scrambled_sobol32, .seed = seed}, 64);
  };
  EXPECT_NE(scrambled(1), scrambled(2));
}

TEST(RngBits, EachBitIsSetHalfOfTheTime) {
  constexpr std::int64_t count = 100'000;
  for (const generator_type generator : pseudorandom) {
    std::array<int, 32> set{};
    for (const std::uint32_t word : words_of({.type = generator, .seed = 2024}, count)) {
      for (std::size_t bit = 0; bit < 32; ++bit)
        set.at(bit) += static_cast<int>(word >> bit & 1);
    }
    for (const int one : set)
      EXPECT_NEAR(one, count / 2.0, 4.5 * std::sqrt(count / 4.0)) << to_string(generator);
  }
}

// Joe and Kuo's first points, and for any 2^k points one in each interval of every dimension.
TEST(RngBits, SobolPointsFillTheirIntervals) {
  for (const generator_type generator : quasirandom) {
    if (!of_32_bits(generator)) continue;
    constexpr std::int64_t dimensions = 7;
    scene s;
    auto& to = s.tensor(dtype::u32, {256, dimensions}, {dimensions, 1});
    s.run(rng::bits{.to = to.view, .from = {.type = generator, .seed = 4}});
    const std::vector<number> points = s.elements_now(to);
    for (std::int64_t d = 0; d < dimensions; ++d) {
      std::vector<int> hits(256);
      for (std::int64_t i = 0; i < 256; ++i) {
        const double c = points[static_cast<std::size_t>(i * dimensions + d)].real() * 0x1p-24;
        ++hits[static_cast<std::size_t>(c)];
      }
      EXPECT_EQ(hits, std::vector<int>(256, 1)) << to_string(generator) << " dimension " << d;
    }
  }
  const auto first = words_of({.type = generator_type::sobol32}, 4);
  EXPECT_EQ(first, (std::vector<std::uint32_t>{0, 0x80000000, 0xC0000000, 0x40000000}));
}

TEST(RngBits, ReachTheEndOfAStreamAndNotBeyond) {
  scene s;
  const auto to = s.vector(dtype::u32, 4).view;
  const auto ends = [&](generator_type type, std::int64_t offset) {
    return validate(rng::bits{.to = to, .from = {.type = type, .offset = offset}});
  };
  for (const auto& [type, end] : {std::pair{generator_type::philox4x32_10, std::int64_t{1} << 62},
                                  std::pair{generator_type::mtgp32, std::int64_t{1} << 38},
                                  std::pair{generator_type::mt19937, std::int64_t{1} << 38},
                                  std::pair{generator_type::sobol32, std::int64_t{1} << 32}}) {
    EXPECT_TRUE(ends(type, end - 4)) << to_string(type);
    const auto beyond = ends(type, end - 3);
    ASSERT_FALSE(beyond) << to_string(type);
    EXPECT_EQ(beyond.error().code, errc::size_overflow);
  }
}

TEST(RngBits, WalkNowhereToDrawNothing) {
  for (const generator_type generator : pseudorandom) {
    scene s;
    s.name(std::string(to_string(generator)));
    const rng::position from{.type = generator, .seed = 8, .offset = (std::int64_t{1} << 38) - 4};
    s.run(rng::bits{.to = s.vector(dtype::u32, 0).view, .from = from});
    s.run(rng::permutation{.to = s.vector(dtype::i64, 0).view, .from = from});
  }
}

TEST(RngBits, RefuseWhatTheyCannotDo) {
  scene s;
  const auto to = s.vector(dtype::u32, 4).view;
  s.refuse(rng::bits{.to = to, .from = {.offset = std::int64_t{1} << 62}}, errc::size_overflow,
           "from.offset is 4611686018427387904, to has 4 elements");
  s.refuse(rng::bits{.to = to,
                     .from = {.type = generator_type::mt19937, .offset = std::int64_t{1} << 40}},
           errc::size_overflow,
           "within the 274877906944 words of mt19937; from.offset is 1099511627776");
  s.refuse(rng::bits{.to = to, .from = {.type = generator_type::mt19937, .subsequence = 3}},
           errc::invalid_argument,
           "from.subsequence is 3, but it must be 0 unless from.type is philox4x32_10; from.type "
           "is mt19937");
  s.refuse(rng::bits{.to = s.vector(dtype::u64, 4).view, .from = {.type = generator_type::sobol32}},
           errc::type_mismatch, "to is u64, but sobol32 has 32 bits");
  s.refuse(rng::bits{.to = s.tensor(dtype::u32, {1, 3668}, {3668, 1}).view,
                     .from = {.type = generator_type::sobol64}},
           errc::invalid_argument,
           "to must hold points of at most 3667 dimensions for sobol64; they have 3668");
  s.refuse(
      rng::bits{.to = to, .from = {.type = generator_type::sobol32, .offset = (1LL << 32) - 3}},
      errc::size_overflow, "sobol32");
}

}  // namespace
}  // namespace troupe::conformance
