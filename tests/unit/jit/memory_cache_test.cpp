#include "jit/client/memory_cache.hpp"

#include <gtest/gtest.h>

namespace troupe::jit {
namespace {

digest numbered_key(unsigned char number) {
  digest made;
  made.bytes.fill(number);
  return made;
}

// Large, so that what a cache keeps beside them does not matter.
binary image_of(std::size_t kib) { return {.image = std::vector<std::byte>(kib << 10)}; }

TEST(JitMemoryCache, DropsWhatWasUsedLongestAgo) {
  memory_cache kept(350 << 10);
  for (unsigned char i = 1; i <= 3; ++i)
    kept.keep(numbered_key(i), image_of(100));
  ASSERT_TRUE(kept.find(numbered_key(1)));  // so that 2 is the one to go
  kept.keep(numbered_key(4), image_of(100));
  EXPECT_FALSE(kept.find(numbered_key(2)));
  for (const int left : {1, 3, 4})
    EXPECT_TRUE(kept.find(numbered_key(static_cast<unsigned char>(left)))) << left;
}

TEST(JitMemoryCache, DropsAsMuchAsANewOneNeedsAndNoMore) {
  memory_cache kept(350 << 10);
  for (unsigned char i = 1; i <= 3; ++i)
    kept.keep(numbered_key(i), image_of(100));
  kept.keep(numbered_key(4), image_of(200));
  EXPECT_FALSE(kept.find(numbered_key(1)));
  EXPECT_FALSE(kept.find(numbered_key(2)));
  EXPECT_TRUE(kept.find(numbered_key(3)));
  ASSERT_TRUE(kept.find(numbered_key(4)));
  EXPECT_EQ(kept.find(numbered_key(4))->image.size(), std::size_t{200} << 10);
}

TEST(JitMemoryCache, KeepsNothingThatIsLargerThanItselfAndNothingTwice) {
  memory_cache kept(350 << 10);
  kept.keep(numbered_key(1), image_of(100));
  kept.keep(numbered_key(2), image_of(400));
  EXPECT_FALSE(kept.find(numbered_key(2)));
  EXPECT_TRUE(kept.find(numbered_key(1)));
  kept.keep(numbered_key(1), image_of(300));
  EXPECT_EQ(kept.find(numbered_key(1))->image.size(), std::size_t{100} << 10);
}

}  // namespace
}  // namespace troupe::jit
