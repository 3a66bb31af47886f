#include "device/copy/streaming_copy.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace troupe {
namespace {

using copy_function = void(std::byte*, const std::byte*, std::size_t);

class StreamingCopy : public testing::TestWithParam<copy_function*> {};

TEST_P(StreamingCopy, MovesAllBytesAndNoOthersWhereverTheyLie) {
  constexpr std::size_t room = 400;
  std::vector<std::byte> from(room);
  for (std::size_t i = 0; i < room; ++i)
    from[i] = static_cast<std::byte>(i * 7 + 1);
  for (std::size_t source = 0; source < 17; ++source) {
    for (std::size_t target = 0; target < 17; ++target) {
      for (std::size_t bytes = 0; bytes < 300; bytes += bytes < 80 ? 1 : 13) {
        std::vector<std::byte> to(room);
        GetParam()(to.data() + target, from.data() + source, bytes);
        for (std::size_t i = 0; i < room; ++i) {
          const bool copied = i >= target && i < target + bytes;
          ASSERT_EQ(to[i], copied ? from[i - target + source] : std::byte{})
              << bytes << " bytes from " << source << " to " << target << ", byte " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachWay, StreamingCopy,
                         testing::Values(&copy_into_shared_cache, &copy_past_caches,
                                         &copy_from_device));

}  // namespace
}  // namespace troupe
