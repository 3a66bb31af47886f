// Device memory as a program sees it: allocation, copies, freezing, staleness.

#include "operations.hpp"

#include <troupe/ops/lane/marker.hpp>
#include <troupe/ops/memory/fill.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace troupe::test {
namespace {

class Memory : public ::testing::Test {
 protected:
  troupe::system system_;
  device gpu_ = system_.device(0, permissive());
};

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST_F(Memory, SpanComesBackAsItWasSent) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{4096},
                              std::size_t{262'144}, std::size_t{3'000'001}}) {
    const std::vector<float> sent = counted(n);
    std::vector<float> back(n, -1.0F);
    auto t = gpu_.tensor<float>({static_cast<std::int64_t>(n)}).value();
    auto there = gpu_.copy(std::span(sent), t);
    auto here = gpu_.copy(t, std::span(back));
    there.get();
    here.get();
    EXPECT_EQ(sent, back) << n << " elements";
  }
}

TEST_F(Memory, CopyOfNothingIsReadyAndRight) {
  auto t = gpu_.tensor<float>({0, 5}).value();
  std::vector<float> none;
  EXPECT_TRUE(gpu_.copy(std::span<const float>(none), t).get_result());
  EXPECT_TRUE(gpu_.copy(t, std::span<float>(none)).get_result());
}

TEST_F(Memory, StridedViewsAreCopiedInRowMajorOrder) {
  const std::vector<float> sent = counted(6);
  auto t = gpu_.tensor<float>({3, 2}).value();
  gpu_.copy(std::span(sent), t.transpose()).get();
  std::vector<float> back(6);
  gpu_.copy(t, std::span(back)).get();
  EXPECT_EQ(back, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(Memory, HostTensorsAreReachedWithoutABounce) {
  auto host = gpu_.host_tensor<float>({1000}).value();
  std::iota(host.elements().begin(), host.elements().end(), 0.0F);
  auto t = gpu_.tensor<float>({1000}).value();
  gpu_.copy(host, t).get();
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 499'500.0);
  auto back = gpu_.host_tensor<float>({1000}).value();
  gpu_.copy(t, back).get();
  EXPECT_EQ(back[999], 999.0F);
}

TEST_F(Memory, ZeroedTensorsAreZeroEvenInUsedMemory) {
  for (int i = 0; i < 3; ++i) {
    auto t = gpu_.tensor<float>({1000}, initial::zero).value();
    EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 0.0);
    gpu_.ask(memory::fill{.to = t, .value = 7}).get();
  }
}

TEST_F(Memory, TensorsGoBetweenDevices) {
  auto found = second_device(system_);
  if (!found) GTEST_SKIP() << "there is one GPU";
  device& other = *found;
  const std::vector<float> sent = counted(100);
  auto here = gpu_.tensor<float>({100}).value();
  auto there = other.tensor<float>({100}).value();
  gpu_.copy(std::span(sent), here).get();
  gpu_.copy(here, there).get();
  EXPECT_EQ(other.ask(sum{.input = there}).get(), 5050.0);
}

TEST_F(Memory, BufferStaysAliveUntilTheRequestThatUsesItHasEnded) {
  shared_flag flag(gpu_);
  const std::uint64_t before = gpu_.statistics().memory_used_bytes;
  future<void> held;
  {
    auto t = gpu_.tensor<float>({100'000}).value();
    held = gpu_.ask(hold{.flag = flag.tensor(), .output = t, .value = 1});
  }
  EXPECT_GT(gpu_.statistics().memory_used_bytes, before);
  flag.set();
  held.get();
  EXPECT_TRUE(eventually([&] { return gpu_.statistics().memory_used_bytes == before; }));
}

TEST_F(Memory, FrozenTensorRefusesWritesUntilThawed) {
  auto t = gpu_.tensor<float>({freezable}, initial::zero).value();
  ASSERT_TRUE(gpu_.freeze(t).get_result());
  auto refused = gpu_.ask(memory::fill{.to = t, .value = 1}).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::frozen_buffer);
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 0.0);
  ASSERT_TRUE(gpu_.thaw(t).get_result());
  EXPECT_TRUE(gpu_.ask(memory::fill{.to = t, .value = 1}).get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 1.0 * freezable);
}

TEST_F(Memory, FreezingWaitsForWritesThatWereSentBefore) {
  shared_flag flag(gpu_);
  auto t = gpu_.tensor<float>({freezable}).value();
  auto held = gpu_.ask(hold{.flag = flag.tensor(), .output = t, .value = 2});
  auto frozen = gpu_.freeze(t);
  EXPECT_FALSE(frozen.ready());
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(frozen.get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 2.0 * freezable);
}

TEST_F(Memory, ReusedMemoryOfAFrozenTensorCanBeWritten) {
  for (int i = 0; i < 4; ++i) {
    auto t = gpu_.tensor<float>({freezable}).value();
    ASSERT_TRUE(gpu_.ask(memory::fill{.to = t, .value = i}).get_result());
    ASSERT_TRUE(gpu_.freeze(t).get_result());
    EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 1.0 * freezable * i);
  }
  EXPECT_EQ(gpu_.generation(), 1u);
}

TEST_F(Memory, ReleasedTensorIsStale) {
  auto t = gpu_.tensor<float>({8}, initial::zero).value();
  auto view = *t.slice(0, 0, 4);
  gpu_.release(t);
  auto outcome = gpu_.ask(sum{.input = view}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::stale_buffer);
}

TEST_F(Memory, TensorOfAStoppedDeviceIsStaleAndOutlivesIt) {
  auto found = second_device(system_);
  if (!found) GTEST_SKIP() << "there is one GPU";
  device& other = *found;
  auto t = other.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(other.wait_until_ready());
  other.stop();
  EXPECT_EQ(t.count(), 8);
  // Another device does not take it for its own.
  auto outcome = gpu_.ask(sum{.input = t}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::foreign_buffer);
  // Neither does a new device of the same number.
  device again = system_.device(1, permissive());
  EXPECT_FALSE(again.ask(sum{.input = t}).get_result());
}

}  // namespace
}  // namespace troupe::test
