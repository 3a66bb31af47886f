// The streams that a lane keeps of cuRAND, with an emulation in its place.

#include "cuda/emulated/curand.hpp"
#include "cuda/emulated/lane.hpp"
#include "libraries/rng/cuda/curand.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace troupe::cuda {
namespace {

constexpr std::uint64_t seed = 7;
constexpr std::uint64_t further_on = std::uint64_t{3} << 20;  // some pieces of a stream

class CurandStreams : public testing::Test {
 protected:
  ~CurandStreams() override { emulated::refusals() = {}; }

  /// The two words from number `first` on, less those of the seed; what it is refused for instead.
  result<std::array<std::uint32_t, 2>> words(std::uint64_t first, std::uint64_t of = seed) {
    std::array<std::uint32_t, 2> found{};
    const rng::position from{.type = rng::generator_type::mt19937, .seed = of};
    if (auto done = enqueue_words(from, first, found.size(), found.data(), *lane_); !done) {
      return std::move(done).error();
    }
    for (std::uint32_t& one : found)
      one -= static_cast<std::uint32_t>(of * 100'000'000);
    return found;
  }
  void expect_right(std::uint64_t first) {
    const auto found = words(first);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ((*found)[0], first);
    EXPECT_EQ((*found)[1], first + 1);
  }
  void expect_refused(std::uint64_t first) {
    const auto found = words(first);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, errc::out_of_memory);
  }

  std::optional<conformance::emulated_lane> lane_{std::in_place};
};

TEST_F(CurandStreams, AreRightAgainOnceAGeneratorCanBeHad) {
  expect_right(further_on);
  emulated::refusals().create = true;
  expect_refused(0);
  expect_right(further_on + 2);  // as before
  emulated::refusals() = {};
  expect_right(0);
  expect_right(further_on);
}

TEST_F(CurandStreams, AreRightAgainOnceAGeneratorCanBeSeeded) {
  expect_right(further_on);
  emulated::refusals().seed = true;
  expect_refused(0);
  emulated::refusals() = {};
  expect_right(0);
}

TEST_F(CurandStreams, EndWithTheirLane) {
  for (std::uint64_t s = 0; s < 6; ++s)
    ASSERT_TRUE(words(0, s));
  EXPECT_EQ(emulated::generators(), 4) << "the last four are kept";
  lane_.reset();
  EXPECT_EQ(emulated::generators(), 0);
}

}  // namespace
}  // namespace troupe::cuda
