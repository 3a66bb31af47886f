// Requests that do not end and workers that give no sign of life.

#include "device_under_fault.hpp"

#include <troupe/ops/fault/inject.hpp>
#include <troupe/ops/lane/marker.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Hang : public device_under_fault {};
INSTANTIATE_TEST_SUITE_P(Standby, Hang, ::testing::Bool(), with_or_without);

TEST_P(Hang, HangIsEndedAtItsDeadlineAndTheRestGoesOn) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  const auto begin = std::chrono::steady_clock::now();
  auto hung = gpu.library("test").ask(fault::inject{.what = fault::kind::hang}, {.deadline = 50ms});
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
        {.deadline = 20ms}));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_fault);
    spent.push_back(std::chrono::steady_clock::now() - begin);
  }
  // What else runs on the machine may delay some.
  std::ranges::sort(spent);
  EXPECT_LT(spent[2], 100ms);
}

TEST_P(Hang, StoppedWorkerIsReplacedAfterItsSilence) {
  device_config c = config();
  c.silence_timeout = 200ms;
  device gpu = system_.device(0, c);
  settle(gpu, GetParam());
  const pid_t worker = gpu.worker_pid().value();
  ::kill(worker, SIGSTOP);
  siginfo_t stopped{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(worker), &stopped, WSTOPPED | WNOWAIT), 0);
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
