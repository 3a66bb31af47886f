// Which request is blamed for the loss of a worker, and which is not.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Blame : public device_under_fault {};
INSTANTIATE_TEST_SUITE_P(Standby, Blame, ::testing::Bool(), with_or_without);

TEST_P(Blame, CrashThatAnotherProcessSendsIsNobodysFault) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  auto output = gpu.tensor<float>({8}).value();
  shared_flag begun(gpu);
  auto held =
      gpu.ask(hold{.flag = flag.tensor(), .output = output, .value = 2, .begun = begun.tensor()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  ::kill(gpu.worker_pid().value(), SIGSEGV);
  ASSERT_TRUE(eventually([&] { return gpu.generation() == 2; }));
  flag.set();
  auto outcome = ended(std::move(held));
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_NE(gpu.health().last_fault->message.find("another process"), std::string::npos)
      << gpu.health().last_fault->to_string();
}

// As a terminal sends it to all processes of a group, which the program handles.
TEST_P(Blame, WorkersTakeNoNoticeOfWhatTheirGroupIsTold) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1}) {
    shared_flag flag(gpu);
    shared_flag begun(gpu);
    auto output = gpu.tensor<float>({8}, initial::zero).value();
    auto held = gpu.ask(hold{
        .flag = flag.tensor(), .output = output, .value = 2, .add = true, .begun = begun.tensor()});
    ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
    ASSERT_EQ(::kill(gpu.worker_pid().value(), signal), 0);
    std::this_thread::sleep_for(10ms);
    flag.set();
    const auto outcome = ended(std::move(held));
    EXPECT_TRUE(outcome) << ::strsignal(signal);
  }
  EXPECT_EQ(gpu.generation(), 1u);
}

TEST_P(Blame, LossOfAWorkerThatSomebodyElseReapsIsNobodysFault) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  shared_flag begun(gpu);
  auto output = gpu.tensor<float>({8}).value();
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  auto held =
      gpu.ask(hold{.flag = flag.tensor(), .output = output, .value = 2, .begun = begun.tensor()});
  EXPECT_TRUE(eventually([&] { return begun.is_set(); }));
  kill_worker(gpu);
  EXPECT_TRUE(eventually([&] { return gpu.generation() == 2; }));
  flag.set();
  const auto outcome = ended(std::move(held));
  EXPECT_TRUE(outcome) << const_cast<result<void>&>(outcome).error().to_string();
  EXPECT_NE(gpu.health().last_fault->message.find("SIGCHLD"), std::string::npos)
      << gpu.health().last_fault->to_string();
  ::signal(SIGCHLD, before);
}

TEST_P(Blame, KillsFromOutsideAreNotHeldAgainstWhatRan) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  auto output = gpu.tensor<float>({8}).value();
  shared_flag begun(gpu);
  auto held =
      gpu.ask(hold{.flag = flag.tensor(), .output = output, .value = 1, .begun = begun.tensor()});
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
    begun.reset();
    const std::uint64_t before = gpu.generation();
    kill_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() > before; }));
  }
  flag.set();
  const auto outcome = ended(std::move(held));
  EXPECT_TRUE(outcome) << const_cast<result<void>&>(outcome).error().to_string();
  EXPECT_EQ(gpu.ask(sum{.input = output}).get(), 8.0);
}

TEST_P(Blame, RequestThatRunsInTwoWorkersThatFallSilentIsPoisonous) {
  device_config c = config();
  c.silence_timeout = 300ms;
  device gpu = system_.device(0, c);
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  auto output = gpu.tensor<float>({8}).value();
  shared_flag begun(gpu);
  auto held =
      gpu.ask(hold{.flag = flag.tensor(), .output = output, .value = 1, .begun = begun.tensor()});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
    begun.reset();
    const std::uint64_t before = gpu.generation();
    freeze_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() > before; }));
  }
  auto outcome = ended(std::move(held));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::poisonous);
}

TEST_P(Blame, SuspectsRunAloneSoThatASecondLossNamesTheGuilty) {
  if (on_gpu()) GTEST_SKIP() << "no kernel can end its process without a word";
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  for (const bool guilty_first : {false, true}) {
    const std::uint64_t before = gpu.generation();
    shared_flag flag(gpu);
    shared_flag begun(gpu);
    shared_flag guilty_flag(gpu);
    shared_flag guilty_begun(gpu);
    auto output = gpu.tensor<float>({8}).value();
    const library_actor one = gpu.library("test").on_new_lane();
    const library_actor other = gpu.library("test").on_new_lane();
    const auto crime = [&] {
      return other.ask(
          exit_when_told{.flag = guilty_flag.tensor(), .begun = guilty_begun.tensor()});
    };
    future<void> guilty;
    if (guilty_first) guilty = crime();
    auto innocent =
        one.ask(hold{.flag = flag.tensor(), .output = output, .value = 2, .begun = begun.tensor()});
    if (!guilty_first) guilty = crime();
    ASSERT_TRUE(eventually([&] { return begun.is_set() && guilty_begun.is_set(); }));
    begun.reset();
    guilty_begun.reset();
    guilty_flag.set();  // and the worker exits without a word of who it was
    ASSERT_TRUE(eventually([&] { return gpu.generation() == before + 1; }));
    EXPECT_FALSE(eventually([&] { return begun.is_set() && guilty_begun.is_set(); }, 50ms));
    flag.set();
    ASSERT_TRUE(eventually([&] { return guilty_begun.is_set(); }));
    guilty_flag.set();
    auto answer = ended(std::move(innocent));
    EXPECT_TRUE(answer) << answer.error().to_string();
    auto blamed = ended(std::move(guilty));
    ASSERT_FALSE(blamed);
    EXPECT_EQ(blamed.error().code, errc::device_fault) << blamed.error().to_string();
    EXPECT_EQ(gpu.ask(sum{.input = output}).get(), 16.0);
    EXPECT_EQ(gpu.generation(), before + 2);
  }
}

// Its host code runs while the queue still has what came before, which alone has begun there.
TEST_P(Blame, RequestThatEndsItsWorkerIsBlamedBesideWhatStillRuns) {
  if (!on_gpu()) GTEST_SKIP() << "without queues the same code is all that has begun";
  device gpu = system_.device(0, config());
  for (const bool on_its_lane : {true, false}) {
    settle(gpu, GetParam());
    const std::uint64_t before = gpu.generation();
    shared_flag flag(gpu);
    shared_flag begun(gpu);
    auto output = gpu.tensor<float>({8}).value();
    const library_actor one = gpu.library("test").on_new_lane();
    const library_actor other = on_its_lane ? one : gpu.library("test").on_new_lane();
    auto held =
        one.ask(hold{.flag = flag.tensor(), .output = output, .value = 2, .begun = begun.tensor()});
    ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
    auto guilty = other.ask(
        fault::inject{.what = fault::kind::exit, .duration_ns = static_cast<std::int64_t>(before)});
    ASSERT_TRUE(eventually([&] { return gpu.generation() == before + 1; }));
    flag.set();
    auto innocent = ended(std::move(held));
    EXPECT_TRUE(innocent) << innocent.error().to_string();
    auto blamed = ended(std::move(guilty));
    ASSERT_FALSE(blamed);
    EXPECT_EQ(blamed.error().code, errc::device_fault) << blamed.error().to_string();
    EXPECT_EQ(gpu.ask(sum{.input = output}).get(), 16.0);
    EXPECT_EQ(gpu.generation(), before + 1);
  }
}

TEST_P(Blame, RequestThatKeepsCrashingIsRefusedTheThirdTime) {
  device gpu = system_.device(0, config());
  for (const errc expected : {errc::device_fault, errc::device_fault, errc::poisonous}) {
    settle(gpu, GetParam());
    auto outcome = ended(gpu.ask(fault::inject{.what = fault::kind::abort}));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, expected);
  }
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
  EXPECT_EQ(gpu.generation(), 3u);
  const auto refused = gpu.quarantine();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused.front().request.find("fault.inject"), std::string::npos);
  EXPECT_TRUE(gpu.forgive(refused.front()));
  EXPECT_EQ(ended(gpu.ask(fault::inject{.what = fault::kind::abort})).error().code,
            errc::device_fault);
}

TEST_P(Blame, WhatTwoBadInputsHaveDoneIsNotHeldAgainstTheNext) {
  device gpu = system_.device(0, config());
  auto input = gpu.tensor<float>({8}).value();
  const auto ask = [&] {
    settle(gpu, GetParam());
    return ended(gpu.ask(fault::inject{.what = fault::kind::abort, .target = input}));
  };
  for (int batch = 0; batch < 3; ++batch) {
    const std::vector<float> values(8, static_cast<float>(batch));
    gpu.copy(std::span(values), input).get();
    EXPECT_EQ(ask().error().code, errc::device_fault) << batch;
  }
  EXPECT_EQ(ask().error().code, errc::device_fault);
  EXPECT_EQ(ask().error().code, errc::poisonous) << "twice the same, on the same input";
}

// The program writes it in place, so its content is unknown each time.
TEST_P(Blame, WhoReadsMemoryOfTheHostIsNeverTheSame) {
  device gpu = system_.device(0, config());
  auto input = gpu.host_tensor<float>({8}).value();
  for (int i = 0; i < 3; ++i) {
    settle(gpu, GetParam());
    const auto outcome = ended(gpu.ask(fault::inject{.what = fault::kind::abort, .target = input}));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_fault);
  }
  EXPECT_TRUE(gpu.quarantine().empty());
}

}  // namespace
}  // namespace troupe::test
