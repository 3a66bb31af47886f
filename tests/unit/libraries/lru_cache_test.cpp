#include "backend/lru_cache.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace troupe {
namespace {

using key = number_key<4>;

key key_of(std::int64_t first, std::int64_t second = 0) {
  key made;
  made.add(first);
  made.add(second);
  return made;
}

using cache = lru_cache<key, int, key::hash>;

TEST(LruCache, DropsWhatWasNotUsedForLongest) {
  cache kept(3);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(kept.add(key_of(i), i), i);
  ASSERT_NE(kept.find(key_of(0)), nullptr);  // so that 1 is the one to go
  kept.add(key_of(3), 3);
  EXPECT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.find(key_of(1)), nullptr);
  EXPECT_EQ(*kept.find(key_of(0)), 0);
  EXPECT_EQ(*kept.find(key_of(2)), 2);
  EXPECT_EQ(*kept.find(key_of(3)), 3);
}

TEST(LruCache, IsBoundedInBytesButKeepsTheLastOne) {
  cache kept(10, 100);
  kept.add(key_of(1), 1, 50);
  kept.add(key_of(2), 2, 50);
  EXPECT_EQ(kept.size(), 2u);
  kept.add(key_of(3), 3, 1);
  EXPECT_EQ(kept.find(key_of(1)), nullptr);
  EXPECT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept.add(key_of(4), 4, 200), 4);
  EXPECT_EQ(kept.size(), 1u);
  kept.add(key_of(5), 5, 10);  // the large one's bytes are free again
  kept.add(key_of(6), 6, 10);
  EXPECT_EQ(kept.size(), 2u);
}

TEST(LruCache, CountsHitsAndMisses) {
  cache kept(2);
  EXPECT_EQ(kept.find(key_of(1)), nullptr);
  kept.add(key_of(1), 1);
  EXPECT_NE(kept.find(key_of(1)), nullptr);
  EXPECT_NE(kept.find(key_of(1)), nullptr);
  EXPECT_EQ(kept.find(key_of(2)), nullptr);
  EXPECT_EQ(kept.hits(), 2u);
  EXPECT_EQ(kept.misses(), 2u);
}

TEST(LruCache, HoldsWhatCanOnlyBeMoved) {
  lru_cache<key, std::unique_ptr<int>, key::hash> kept(1);
  EXPECT_EQ(*kept.add(key_of(1), std::make_unique<int>(7)), 7);
  EXPECT_EQ(**kept.find(key_of(1)), 7);
}

TEST(NumberKey, TellsNumbersTheirOrderAndTheirCountApart) {
  EXPECT_EQ(key_of(1, 2), key_of(1, 2));
  EXPECT_NE(key_of(1, 2), key_of(2, 1));
  key shorter;
  shorter.add(1);
  EXPECT_NE(shorter, key_of(1, 0));
  EXPECT_NE(key::hash()(key_of(1, 2)), key::hash()(key_of(2, 1)));
}

TEST(LruCache, ForgetsWhatItIsToldTo) {
  lru_cache<int, int, std::hash<int>> kept(4, 100);
  for (int i = 0; i < 4; ++i)
    kept.add(i, 10 * i, 20);
  kept.erase(2);
  kept.erase(7);
  EXPECT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.find(2), nullptr);
  kept.add(2, 21, 40);  // its bytes count no longer: all have room
  EXPECT_EQ(kept.size(), 4u);
  EXPECT_EQ(*kept.find(2), 21);
  EXPECT_EQ(*kept.find(0), 0);
}

}  // namespace
}  // namespace troupe
