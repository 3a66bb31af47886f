// Memory that is put together of slabs, as a GPU's is, on a device of queues.

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

namespace troupe {
namespace {

class Slabs : public testing::Test {
 protected:
  troupe::system system_;
  device gpu_ = system_.device(0, {.fault_injection = true, .backend_path = QUEUES_PLUGIN});
};

TEST_F(Slabs, OfASmallTensorAreSharedSoItsFreezingIsRefusedWithTheRemedy) {
  auto t = gpu_.tensor<float>({8}).value();
  auto outcome = gpu_.freeze(t).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::unsupported);
  EXPECT_NE(outcome.error().message.find("a tensor of 32 bytes"), std::string::npos);
  EXPECT_NE(outcome.error().message.find("placement::own"), std::string::npos);
}

TEST_F(Slabs, OfItsOwnLetASmallTensorBeFrozenAndHoldAStrayWriteBack) {
  auto small = gpu_.tensor<float>({8}, initial::zero, placement::own).value();
  auto neighbour = gpu_.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(gpu_.freeze(small).get_result());
  auto refused = gpu_.ask(memory::fill{.to = small, .value = 1}).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::frozen_buffer);
  EXPECT_TRUE(gpu_.ask(memory::fill{.to = neighbour, .value = 1}).get_result());
  auto stray =
      gpu_.ask(fault::inject{.what = fault::kind::write_frozen, .target = small}).get_result();
  ASSERT_FALSE(stray);
  EXPECT_EQ(stray.error().code, errc::device_fault);
}

TEST_F(Slabs, AreNoLargerThanTheirTensorWhereTheLimitIsNear) {
  constexpr std::int64_t mib = 1 << 20;
  gpu_.stop();
  device small =
      system_.device(0, {.memory_limit_bytes = 100 * mib, .backend_path = QUEUES_PLUGIN});
  for (int i = 0; i < 3; ++i) {
    auto t = small.tensor<std::uint8_t>({99 * mib + 1}).value();  // to be rounded to 104 MiB
    EXPECT_TRUE(small.ask(memory::fill{.to = t, .value = i}).get_result());
  }
  auto refused = small.tensor<std::uint8_t>({100 * mib + 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
}

TEST_F(Slabs, OfItsOwnAreUsedAgain) {
  const std::uint64_t before = gpu_.statistics().memory_used_bytes;
  std::uint64_t with_one = 0;
  for (int i = 0; i < 8; ++i) {
    auto t = gpu_.tensor<float>({8}, initial::undefined, placement::own).value();
    const std::uint64_t now = gpu_.statistics().memory_used_bytes;
    if (i == 0) with_one = now;
    EXPECT_EQ(now, with_one);
  }
  EXPECT_EQ(gpu_.statistics().memory_used_bytes, before);
}

}  // namespace
}  // namespace troupe
