// A device that has stopped, or given up: its memory is there, and it can be restarted.

#include "device/fixtures/device_under_fault.hpp"
#include "device/fixtures/either_isolation.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/memory/fill.hpp>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Restart : public either_isolation {
 protected:
  tensor<float> counted(std::int64_t rows, std::int64_t columns) {
    std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    auto t = gpu_.tensor<float>({rows, columns}).value();
    gpu_.copy(std::span<const float>(numbers), t).get();
    return t;
  }
  std::vector<float> content(const any_tensor& t) {
    std::vector<float> numbers(static_cast<std::size_t>(t.count()), -1.0F);
    gpu_.copy(t, std::span(numbers)).get();
    return numbers;
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, Restart,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(Restart, ServesTheSameTensorsInTheNextGeneration) {
  const auto t = counted(4, 4);
  for (std::uint64_t life = 1; life <= 3; ++life) {
    EXPECT_EQ(gpu_.generation(), life);
    gpu_.stop();
    EXPECT_EQ(gpu_.health().state, device_state::stopped);
    EXPECT_FALSE(gpu_.tensor<float>({4}));
    EXPECT_EQ(ended(gpu_.ask(lane::marker{})).error().code, errc::device_stopped);
    ASSERT_TRUE(gpu_.restart());
    EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 120.0);
    EXPECT_TRUE(gpu_.tensor<float>({4}));
    EXPECT_EQ(gpu_.health().state, device_state::ready);
  }
}

TEST_P(Restart, OfADeviceThatRunsDoesNothing) {
  expect_usable();
  ASSERT_TRUE(gpu_.restart());
  expect_usable();
  EXPECT_EQ(gpu_.generation(), 1U);
}

TEST_P(Restart, IsNotNeededToCopyOut) {
  if (on_gpu()) GTEST_SKIP() << "the program does not see that memory";
  const auto t = counted(3, 2);
  auto host = gpu_.host_tensor<float>({2, 3}).value();
  gpu_.stop();
  EXPECT_EQ(content(t), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(content(t.transpose()), (std::vector<float>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(content(t.slice(0, 1, 3).value()), (std::vector<float>{2, 3, 4, 5}));
  gpu_.copy(t.transpose(), host).get();
  EXPECT_EQ(host[1], 2.0F);
  EXPECT_EQ(host[5], 5.0F);
  EXPECT_EQ(gpu_.copy(t, host).get_result().error().code, errc::shape_mismatch);
}

TEST_P(Restart, IsNotNeededToCopyToAnotherDevice) {
  if (on_gpu()) GTEST_SKIP() << "the program does not see that memory";
  const auto t = counted(2, 2);
  gpu_.stop();
  device other = *second_device(system_, config());
  const auto there = other.tensor<float>({2, 2}).value();
  other.copy(t, there).get();
  EXPECT_EQ(other.ask(sum{.input = there}).get(), 6.0);
}

TEST_P(Restart, LeavesTheReleasedStale) {
  if (on_gpu()) GTEST_SKIP() << "the program does not see that memory";
  const auto t = counted(2, 2);
  gpu_.release(t);
  gpu_.stop();
  std::vector<float> numbers(4);
  EXPECT_EQ(gpu_.copy(t, std::span(numbers)).get_result().error().code, errc::stale_buffer);
}

TEST_P(Restart, LeavesTheFrozenFrozen) {
  const auto kept = gpu_.tensor<float>({freezable}, initial::zero, placement::own).value();
  {
    const auto dropped = gpu_.tensor<float>({freezable}, initial::zero, placement::own).value();
    gpu_.freeze(kept).get();
    gpu_.freeze(dropped).get();
    gpu_.stop();
  }
  ASSERT_TRUE(gpu_.restart());
  const auto refused = gpu_.ask(memory::fill{.to = kept, .value = 1}).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::frozen_buffer);
  EXPECT_EQ(gpu_.ask(sum{.input = kept}).get(), 0.0);
  // In the place of the one that was released.
  const auto next = gpu_.tensor<float>({freezable}, initial::zero, placement::own).value();
  EXPECT_TRUE(gpu_.ask(memory::fill{.to = next, .value = 1}).get_result());
  gpu_.thaw(kept).get();
  EXPECT_TRUE(gpu_.ask(memory::fill{.to = kept, .value = 1}).get_result());
}

TEST_P(Restart, IsSeenByWatchers) {
  std::atomic<std::uint64_t> generation = 0;
  std::atomic<int> ends = 0;
  gpu_.watch_generation([&](std::optional<std::uint64_t> now) {
    if (now) {
      generation = *now;
    } else {
      ++ends;
    }
  });
  EXPECT_TRUE(eventually([&] { return generation == 1; }));
  gpu_.stop();
  EXPECT_EQ(ends, 1);
  // One that comes when it has stopped already.
  std::atomic<std::uint64_t> later = 0;
  gpu_.watch_generation([&](std::optional<std::uint64_t> now) { later = now.value_or(77); });
  EXPECT_TRUE(eventually([&] { return later == 77; }));
  ASSERT_TRUE(gpu_.restart());
  EXPECT_TRUE(eventually([&] { return generation == 2 && later == 2; }));
  gpu_.stop();
  EXPECT_EQ(ends, 2);
}

TEST_P(Restart, MayBeDoneByAWatcher) {
  std::atomic<int> restarted = 0;
  gpu_.watch_generation([&](std::optional<std::uint64_t> now) {
    if (now || restarted++ > 0) return;
    EXPECT_TRUE(gpu_.restart());
  });
  expect_usable();
  gpu_.stop();
  EXPECT_TRUE(eventually([&] { return gpu_.generation() == 2; }));
  expect_usable();
  gpu_.stop();
}

TEST_P(Restart, BringsAnotherActor) {
  const any_actor_ref before = gpu_.actor();
  gpu_.stop();
  EXPECT_TRUE(eventually([&] { return before.stopped(); }));
  ASSERT_TRUE(gpu_.restart());
  EXPECT_NE(gpu_.actor(), before);
  EXPECT_FALSE(gpu_.actor().stopped());
  gpu_.stop();
  EXPECT_TRUE(eventually([&] { return gpu_.actor().stopped(); }));
}

TEST_P(Restart, ANumberKeepsItsDeviceUntilAnotherOneIsMade) {
  const auto t = counted(2, 2);
  gpu_.stop();
  EXPECT_EQ(system_.device(0).core(), gpu_.core());
  device next = system_.device(0, config());
  EXPECT_NE(next.core(), gpu_.core());
  const auto refused = gpu_.restart();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::device_stopped);
  if (!on_gpu()) {
    EXPECT_EQ(content(t), (std::vector<float>{0, 1, 2, 3}));
  }
  EXPECT_TRUE(next.ask(lane::marker{}).get_result());
}

TEST(RestartAfterShutdown, IsRefusedAndTheTensorsAreThere) {
  std::optional<troupe::system> system(std::in_place);
  device gpu = system->device(0, permissive());
  auto t = gpu.tensor<float>({4}, initial::zero).value();
  EXPECT_EQ(gpu.ask(sum{.input = t}).get(), 0.0);
  system.reset();
  EXPECT_EQ(gpu.restart().error().code, errc::device_stopped);
  if (on_gpu()) return;
  std::vector<float> numbers(4, 1.0F);
  gpu.copy(t, std::span(numbers)).get();
  EXPECT_EQ(numbers, std::vector<float>(4, 0.0F));
}

class RestartAfterFaults : public device_under_fault {};
INSTANTIATE_TEST_SUITE_P(Standby, RestartAfterFaults, ::testing::Values(false, true),
                         with_or_without);

TEST_P(RestartAfterFaults, HasAFreshBudgetAndKeepsTaints) {
  device_config config = this->config();
  config.restarts = {.restarts = 0, .window = 60s};
  config.silence_timeout = 300ms;
  device gpu = system_.device(0, config);
  const auto good = gpu.tensor<float>({freezable}, initial::zero).value();
  const auto spoilt = gpu.tensor<float>({freezable}, initial::zero).value();
  gpu.ask(memory::fill{.to = good, .value = 2}).get();
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(ended(gpu.ask(fault::inject{
                        .what = fault::kind::exit, .output = spoilt, .duration_ns = life}))
                  .error()
                  .code,
              errc::device_fault);
    ASSERT_TRUE(ended(gpu.ask(lane::marker{})));
    freeze_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.health().state == device_state::stopped; }));
    EXPECT_EQ(refused(system_, 0, config), errc::invalid_argument);
    EXPECT_EQ(system_.device(0).core(), gpu.core());
    std::vector<float> numbers(freezable);
    if (!on_gpu()) {
      gpu.copy(good, std::span(numbers)).get();
      EXPECT_EQ(numbers, std::vector<float>(freezable, 2.0F));
      EXPECT_EQ(gpu.copy(spoilt, std::span(numbers)).get_result().error().code,
                errc::tainted_buffer);
    }
    ASSERT_TRUE(gpu.restart());
    EXPECT_EQ(gpu.ask(sum{.input = good}).get(), 2.0 * freezable);
    EXPECT_EQ(ended(gpu.copy(spoilt, std::span(numbers))).error().code, errc::tainted_buffer);
  }
  EXPECT_TRUE(gpu.ask(memory::fill{.to = spoilt, .value = 1}).get_result());
}

}  // namespace
}  // namespace troupe::test
