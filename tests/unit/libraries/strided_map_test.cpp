#include "libraries/memory/cuda/strided.hpp"
#include "libraries/memory/cuda/units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace troupe::cuda {
namespace {

using elementwise::strided_loops;

TEST(Divider, DividesWhatItIsFor) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> divisors{1, 2, 3, 5, 7, 10, 641, 65535, 65536, 0x7fffffff, 0x80000000};
  for (int i = 0; i < 1000; ++i)
    divisors.push_back(std::max(1u, static_cast<std::uint32_t>(random()) >> random() % 32 >> 1));
  for (const std::uint32_t by : divisors) {
    const divider d(by);
    const auto check = [&](std::uint64_t n) {
      if (n >= std::uint64_t{1} << 31) return;
      const auto number = static_cast<std::uint32_t>(n);
      ASSERT_EQ(d.quotient(number), number / by) << number << " / " << by;
    };
    for (std::uint64_t n : {0ull, 1ull, 2ull, 0x7ffffffeull, 0x7fffffffull})
      check(n);
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t multiple = std::uint64_t{random() % (0x7fffffffu / by + 1)} * by;
      check(multiple);
      check(multiple + 1);
      if (multiple > 0) check(multiple - 1);
      check(random() >> 1);
    }
  }
}

using moves = std::map<std::int64_t, std::int64_t>;  // from where each place of `to` comes

moves every_move(const any_tensor& from, const any_tensor& to) {
  moves all;
  for (std::int64_t flat = 0; flat < to.count(); ++flat) {
    std::int64_t rest = flat;
    std::int64_t source = 0;
    std::int64_t target = 0;
    for (int d = to.rank() - 1; d >= 0; --d) {
      source += rest % to.extent(d) * from.stride(d);
      target += rest % to.extent(d) * to.stride(d);
      rest /= to.extent(d);
    }
    all[target * size_of(to.type())] = source * size_of(from.type());
  }
  return all;
}

/// The moves of a launch's threads, one after the other.
moves mapped(const strided_map& map) {
  moves all;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    EXPECT_TRUE(all.emplace(to, from).second) << "stored twice: " << to;
  };
  for (std::int64_t block = 0; block < map.blocks(); ++block) {
    if (map.tiled) {
      const auto tile = map.tile_of(static_cast<std::uint32_t>(block));
      for (int column = 0; column < tile.columns; ++column) {
        for (int row = 0; row < tile.rows; ++row) {
          add(tile.first.from + column * map.dimensions[0].from + row * map.dimensions[1].from,
              tile.first.to + column * map.dimensions[0].to + row * map.dimensions[1].to);
        }
      }
      continue;
    }
    for (std::int64_t i = block * block_elements;
         i < std::min((block + 1) * block_elements, map.count); ++i) {
      const auto at = map.place_of(i);
      add(at.from, at.to);
    }
  }
  return all;
}

class StridedMap : public testing::Test {
 protected:
  std::mt19937 random_{7};

  /// Strides of `extents` in a random order of the dimensions, with gaps.
  std::vector<std::int64_t> strides(const std::vector<std::int64_t>& extents) {
    std::vector<std::size_t> order(extents.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::shuffle(order, random_);
    std::vector<std::int64_t> strides(extents.size());
    std::int64_t step = 1 + static_cast<std::int64_t>(random_() % 2);
    for (const std::size_t d : order) {
      strides[d] = step;
      step = step * extents[d] + static_cast<std::int64_t>(random_() % 2);
    }
    return strides;
  }
};

TEST_F(StridedMap, MovesEveryElementOnce) {
  int tiled = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::int64_t> extents(random_() % 5);
    std::int64_t count = 1;
    for (std::int64_t& e : extents) {
      e = 1 + static_cast<std::int64_t>(random_() % 70);
      if (count * e > 20'000) e = 1;
      count *= e;
    }
    const shape size{std::span<const std::int64_t>(extents)};
    const auto from_strides = strides(extents);
    const auto to_strides = strides(extents);
    const auto from = any_tensor::unowned(nullptr, dtype::f32, size, from_strides);
    const auto to = any_tensor::unowned(nullptr, dtype::i16, size, to_strides);
    const strided_loops loops(from, to);
    strided_map map(loops, round % 4 != 0);
    tiled += map.tiled ? 1 : 0;
    ASSERT_EQ(mapped(map), every_move(from, to)) << from.to_string() << " to " << to.to_string();
    map.narrow = false;
    ASSERT_EQ(mapped(map), every_move(from, to)) << from.to_string() << " to " << to.to_string();
  }
  EXPECT_GT(tiled, 50);
}

TEST_F(StridedMap, CountsPastThirtyTwoBits) {
  constexpr std::int64_t rows = std::int64_t{1} << 20;
  constexpr std::int64_t columns = 100'000;
  const std::int64_t from_strides[] = {0, 1};
  const std::int64_t to_strides[] = {columns + 1, 1};
  const strided_loops loops(any_tensor::unowned(nullptr, dtype::u8, {rows, columns}, from_strides),
                            any_tensor::unowned(nullptr, dtype::u8, {rows, columns}, to_strides));
  const strided_map map(loops, true);
  EXPECT_FALSE(map.narrow);
  const auto last = map.place_of(rows * columns - 1);
  EXPECT_EQ(last.from, columns - 1);
  EXPECT_EQ(last.to, (rows - 1) * (columns + 1) + columns - 1);
}

TEST_F(StridedMap, CountsUnitsAsLargeAsRowsAllow) {
  const auto unit_of = [](std::int64_t from, std::int64_t to, std::int64_t length,
                          std::int64_t pitch, dtype type = dtype::f32) {
    const std::int64_t strides[] = {pitch, 1};
    const auto view = any_tensor::unowned(nullptr, type, {3, length}, strides);
    strided_loops loops(view, view);
    const unit found = choose_unit(loops, size_of(type), reinterpret_cast<std::byte*>(from),
                                   reinterpret_cast<std::byte*>(to));
    EXPECT_EQ(strided_map(loops, true).count * found.bytes, 3 * length * size_of(type));
    return found;
  };
  EXPECT_EQ(unit_of(256, 512, 8, 12).bytes, 16);
  EXPECT_EQ(unit_of(256, 512, 8, 10).bytes, 8);
  EXPECT_EQ(unit_of(256, 512, 6, 12).bytes, 8);
  EXPECT_EQ(unit_of(256, 516, 8, 12).bytes, 4);
  EXPECT_EQ(unit_of(256, 512, 4, 8).bytes, 16);
  EXPECT_EQ(unit_of(256, 513, 8, 16, dtype::u8).bytes, 1);
  const unit halves = unit_of(256, 520, 8, 16, dtype::c128);
  EXPECT_EQ(halves.bytes, 16);
  EXPECT_EQ(halves.alignment, 8);
}

}  // namespace
}  // namespace troupe::cuda
