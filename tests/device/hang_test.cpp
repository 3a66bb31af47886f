// Requests that take too long, by their callers' deadline or by their run limit, and workers that
// give no sign of life.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Hang : public device_under_fault {};
INSTANTIATE_TEST_SUITE_P(Standby, Hang, ::testing::Bool(), with_or_without);

TEST_P(Hang, HangIsEndedAtItsRunLimitAndTheRestGoesOn) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  const auto begin = std::chrono::steady_clock::now();
  auto hung =
      gpu.library("test").ask(fault::inject{.what = fault::kind::hang}, {.run_limit = 50ms});
  auto behind = gpu.library("test").ask(lane::marker{});
  auto outcome = ended(std::move(hung));
  const auto spent = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_fault);
  EXPECT_NE(outcome.error().message.find("hang"), std::string::npos);
  EXPECT_GE(spent, 50ms);
  EXPECT_TRUE(ended(std::move(behind)));
}

TEST_P(Hang, HangIsEndedInTimeWhileOtherLanesAreBusy) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  // Answers without a pause, none of which a thread waits for: the device thread brings them in.
  std::atomic<int> in_flight = 0;
  std::jthread load([&](const std::stop_token& stop) {
    const library_actor lane = gpu.library("test").on_new_lane();
    while (!stop.stop_requested()) {
      if (in_flight >= 64) {
        std::this_thread::yield();
        continue;
      }
      ++in_flight;
      (void)lane.ask(lane::marker{}).then([&](const result<void>&) { --in_flight; });
    }
    EXPECT_TRUE(eventually([&] { return in_flight == 0; }));
  });
  std::vector<std::chrono::steady_clock::duration> spent;
  const auto outputs = gpu.tensor<float>({5}).value();
  for (int i = 0; i < 5; ++i) {
    settle(gpu, GetParam());
    const auto begin = std::chrono::steady_clock::now();
    auto outcome = ended(gpu.ask(
        fault::inject{.what = fault::kind::hang, .output = outputs.slice(0, i, i + 1).value()},
        {.run_limit = 20ms}));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_fault);
    spent.push_back(std::chrono::steady_clock::now() - begin);
  }
  // Other load on the machine may delay some.
  std::ranges::sort(spent);
  EXPECT_LT(spent[2], 100ms);
}

TEST_P(Hang, DeviceHasARunLimitForWhatSaysNothing) {
  device_config c = config();
  c.run_limit = 50ms;
  device gpu = system_.device(0, c);
  settle(gpu, GetParam());
  const auto outcome = ended(gpu.ask(fault::inject{.what = fault::kind::hang}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_fault);
}

TEST_P(Hang, HangIsNotHeldAgainstTheRequest) {
  device gpu = system_.device(0, config());
  shared_flag flag(gpu);
  const auto ask = [&] {
    settle(gpu, GetParam());
    return ended(gpu.ask(hold{.flag = flag.tensor()}, {.run_limit = 30ms}));
  };
  for (int i = 0; i < 3; ++i) {
    const auto outcome = ask();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_fault);
  }
  flag.set();
  const auto outcome = ended(gpu.ask(hold{.flag = flag.tensor()}));
  EXPECT_TRUE(outcome) << const_cast<result<void>&>(outcome).error().to_string();
}

TEST_P(Hang, MissedDeadlinesCostNoWorker) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  shared_flag begun(gpu);
  auto output = gpu.tensor<float>({8}).value();
  const hold request{.flag = flag.tensor(), .output = output, .value = 2, .begun = begun.tensor()};
  const library_actor lane = gpu.library("test").on_new_lane();
  int races = 0;
  for (int i = 0; i < 3; ++i) {
    flag.reset();
    begun.reset();
    // However long it takes to begin: it ends when the flag is set.
    std::vector<future<void>> late;
    for (auto timeout = 20ms; !begun.is_set(); timeout *= 2) {
      late.push_back(gpu.library("test").ask(request, {.deadline = timeout}));
      (void)eventually([&] { return begun.is_set(); }, 2 * timeout);
    }
    bool seen_running = false;
    for (auto& one : late) {
      const auto outcome = ended(std::move(one));
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().code, errc::deadline_exceeded) << outcome.error().to_string();
      seen_running = seen_running || outcome.error().message.ends_with("runs to its end");
    }
    if (!seen_running) {
      // It began just before its deadline, and the device took it for one that had not.
      ASSERT_LT(++races, 20);
      flag.set();
      --i;
      continue;
    }
    auto behind = lane.ask(sum{.input = output});
    EXPECT_FALSE(behind.ready()) << "what it reads is still being written";
    flag.set();
    EXPECT_EQ(behind.get(), 16.0);
  }
  EXPECT_EQ(gpu.generation(), 1u);
}

// It is behind one that takes twice its limit, in its lane and in another.
TEST_P(Hang, RunLimitCountsFromTheBeginningOfTheRun) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  constexpr auto limit = 500ms;
  for (const bool in_its_lane : {true, false}) {
    shared_flag flag(gpu);
    auto output = gpu.tensor<float>({8}).value();
    auto held = gpu.library("test").ask(hold{.flag = flag.tensor(), .output = output, .value = 1});
    const library_actor lane =
        in_its_lane ? gpu.library("test") : gpu.library("test").on_new_lane();
    auto behind = lane.ask(sum{.input = output}, {.run_limit = limit});
    std::this_thread::sleep_for(2 * limit);
    flag.set();
    EXPECT_TRUE(ended(std::move(held)));
    EXPECT_EQ(behind.get(), 8.0);
  }
  EXPECT_EQ(gpu.generation(), 1u);
}

TEST_P(Hang, StoppedWorkerIsReplacedAfterItsSilence) {
  device_config c = config();
  c.silence_timeout = 200ms;
  device gpu = system_.device(0, c);
  settle(gpu, GetParam());
  freeze_worker(gpu);
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
  EXPECT_EQ(gpu.generation(), 2u);
}

TEST_P(Hang, LongWorkIsNotTakenForSilence) {
  device_config c = config();
  c.silence_timeout = 100ms;
  device gpu = system_.device(0, c);
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  auto held = gpu.ask(hold{.flag = flag.tensor()});
  std::this_thread::sleep_for(800ms);
  flag.set();
  EXPECT_TRUE(ended(std::move(held)));
  EXPECT_EQ(gpu.generation(), 1u);
}

}  // namespace
}  // namespace troupe::test
