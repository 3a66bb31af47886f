// Who fails, who is answered, what is tainted, what comes back: each kind of loss of a worker.

#include "operations.hpp"

#include <troupe/ops/fault/inject.hpp>
#include <troupe/ops/fault/spin_until.hpp>
#include <troupe/ops/lane/marker.hpp>
#include <troupe/ops/memory/copy.hpp>
#include <troupe/ops/memory/fill.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 20s;

// The outcome of a request that must end: a lost one fails the test instead of hanging it.
result<void> ended(future<void> f) {
  if (!f.wait_for(patience)) return error{.code = errc::timed_out, .message = "lost"};
  return f.get_result();
}

class Fault : public ::testing::TestWithParam<bool> {
 protected:
  device_config config() {
    device_config c = permissive();
    c.standby = GetParam();
    return c;
  }
  // Ends when the device serves requests and, if it has one, its standby is ready.
  static void settle(const device& gpu, bool standby) {
    ASSERT_TRUE(gpu.wait_until_ready());
    ASSERT_TRUE(eventually([&] { return !standby || gpu.health().standby_ready; }));
  }

  troupe::system system_;
};

INSTANTIATE_TEST_SUITE_P(Standby, Fault, ::testing::Bool(), [](const auto& which) {
  return std::string(which.param ? "With" : "Without");
});

TEST_P(Fault, CrashFailsItsRequestAndNoOther) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  std::vector<future<void>> answers;
  answers.reserve(1000);
  for (int i = 0; i < 1000; ++i) {
    answers.push_back(
        i == 500 ? gpu.library("test").ask(fault::inject{.what = fault::kind::segmentation_fault})
                 : gpu.library("test").ask(lane::marker{}));
  }
  for (int i = 0; i < 1000; ++i) {
    const auto outcome = ended(std::move(answers[static_cast<std::size_t>(i)]));
    if (i == 500) {
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().code, errc::device_fault);
      EXPECT_EQ(outcome.error().code_name, "SIGSEGV");
      EXPECT_NE(outcome.error().request.find("fault.inject"), std::string::npos);
      // A GPU may need a second worker to tell the culprit from what ran beside it.
      EXPECT_GE(outcome.error().generation, 1u);
      EXPECT_LE(outcome.error().generation, on_gpu() ? 2u : 1u);
    } else {
      ASSERT_TRUE(outcome) << "request " << i;
    }
  }
  EXPECT_LE(gpu.generation(), on_gpu() ? 3u : 2u);
  EXPECT_EQ(gpu.health().restarts, gpu.generation() - 1);
  const device_statistics counts = gpu.statistics();
  EXPECT_EQ(counts.sent, counts.answered + counts.failed);
}

class EachKind : public Fault {};
INSTANTIATE_TEST_SUITE_P(Standby, EachKind, ::testing::Bool());

TEST_P(EachKind, OfDeathIsSurvivedAndBlamesItsRequest) {
  device gpu = system_.device(0, config());
  for (const fault::kind kind :
       {fault::kind::segmentation_fault, fault::kind::abort, fault::kind::exit, fault::kind::trap,
        fault::kind::stack_overflow}) {
    settle(gpu, GetParam());
    const std::uint64_t before = gpu.generation();
    auto output = gpu.tensor<float>({4}).value();
    auto failed = ended(gpu.ask(fault::inject{.what = kind, .output = output}));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, errc::device_fault) << failed.error().to_string();
    EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
    EXPECT_EQ(gpu.generation(), before + 1);
  }
}

TEST_P(EachKind, OfErrorThatIsNotStickyKeepsTheWorker) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  auto memory = ended(gpu.ask(fault::inject{.what = fault::kind::out_of_memory}));
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, errc::out_of_memory);
  auto thrown = ended(gpu.ask(fault::inject{.what = fault::kind::exception}));
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, errc::handler_failed);
  EXPECT_NE(thrown.error().message.find("injected exception"), std::string::npos);
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
  EXPECT_EQ(gpu.generation(), 1u);
}

TEST_P(EachKind, OfKernelsIsRefusedByNameWhereThereAreNone) {
  if (on_gpu()) GTEST_SKIP() << "here they are run";
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  for (const fault::kind kind : {fault::kind::unmapped_address, fault::kind::misaligned_address,
                                 fault::kind::failed_assertion, fault::kind::invalid_launch}) {
    auto refused = ended(gpu.ask(fault::inject{.what = kind}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::unsupported);
    EXPECT_NE(refused.error().message.find(to_string(kind)), std::string::npos)
        << refused.error().message;
  }
  EXPECT_EQ(gpu.generation(), 1u);
}

TEST_P(Fault, SpinTakesItsTimeAndSucceeds) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  const auto begin = std::chrono::steady_clock::now();
  auto outcome =
      ended(gpu.ask(fault::inject{.what = fault::kind::spin, .duration_ns = 50'000'000}));
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
  for (const std::int64_t wrong : {std::int64_t{-1}, fault::longest_spin_ns + 1}) {
    auto refused = ended(gpu.ask(fault::inject{.what = fault::kind::spin, .duration_ns = wrong}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
  }
}

TEST_P(Fault, SpinUntilEndsWithItsFlagAndWritesThen) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  auto output = gpu.tensor<float>({1000}, initial::zero).value();
  auto held = gpu.ask(fault::spin_until{.flag = flag.tensor(), .output = output, .value = 2});
  auto more = gpu.ask(
      fault::spin_until{.flag = flag.tensor(), .output = output, .value = 0.5, .add = true});
  EXPECT_FALSE(held.wait_for(20ms));
  flag.set();
  EXPECT_TRUE(ended(std::move(held)));
  EXPECT_TRUE(ended(std::move(more)));
  EXPECT_EQ(gpu.ask(sum{.input = output}).get(), 2500.0);
}

TEST_P(Fault, SpinUntilEndsWithoutItsFlagToo) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  EXPECT_TRUE(ended(gpu.ask(fault::spin_until{.flag = flag.tensor(), .at_most_ns = 1'000'000})));
  auto column = gpu.tensor<float>({4, 4}).value().slice(1, 0, 1).value();
  auto refused = ended(gpu.ask(fault::spin_until{.flag = flag.tensor(), .output = column}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::layout_unsupported);
}

TEST_P(Fault, KilledWorkersPureWriteIsRunAgain) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  auto output = gpu.tensor<float>({8}).value();
  shared_flag begun(gpu);
  auto held =
      gpu.ask(hold{.flag = flag.tensor(), .output = output, .value = 2, .begun = begun.tensor()});
  auto after = gpu.ask(sum{.input = output});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  kill_worker(gpu);
  // A GPU goes on with the killed worker's kernel for a while: what that still ends is not run
  // again.
  ASSERT_TRUE(eventually([&] { return gpu.generation() == 2; }));
  flag.set();
  EXPECT_TRUE(ended(std::move(held)));
  EXPECT_EQ(after.get(), 16.0);
  if (!on_gpu()) {
    EXPECT_EQ(gpu.statistics().replayed, 1u);
  }
}

TEST_P(Fault, CrashThatAnotherProcessSendsIsNobodysFault) {
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

// Sends a request that updates in place, waits until it runs, and kills the worker.
future<void> kill_during_update(device& gpu, const shared_flag& flag, const any_tensor& output) {
  const std::uint64_t before = gpu.generation();
  shared_flag begun(gpu);
  auto held = gpu.ask(hold{
      .flag = flag.tensor(), .output = output, .value = 1, .add = true, .begun = begun.tensor()});
  EXPECT_TRUE(eventually([&] { return begun.is_set(); }));
  kill_worker(gpu);
  EXPECT_TRUE(eventually([&] { return gpu.generation() > before; }));
  return held;
}

TEST_P(Fault, KilledWorkersUpdateIsAbortedAndItsOutputTainted) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  auto output = gpu.tensor<float>({8}, initial::zero).value();
  auto untouched = gpu.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(ended(gpu.ask(lane::marker{.after = output})));
  auto held = ended(kill_during_update(gpu, flag, output));
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, errc::aborted) << held.error().to_string();

  auto read = gpu.ask(sum{.input = output}).get_result();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::tainted_buffer);
  EXPECT_NE(read.error().message.find("test.hold"), std::string::npos) << read.error().message;
  EXPECT_EQ(gpu.ask(sum{.input = untouched}).get(), 0.0);

  const std::vector<float> fresh(8, 3.0F);
  ASSERT_TRUE(ended(gpu.copy(std::span(fresh), output)));
  EXPECT_EQ(gpu.ask(sum{.input = output}).get(), 24.0);
}

TEST_P(Fault, ReaderQueuedBehindALostWriteFailsInsteadOfReadingGarbage) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  auto output = gpu.tensor<float>({8}, initial::zero).value();
  auto crash = gpu.library("test").ask(
      fault::inject{.what = fault::kind::segmentation_fault, .output = output});
  auto reader = gpu.library("test").ask(sum{.input = output});
  ASSERT_FALSE(ended(std::move(crash)));
  auto read = reader.get_result();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::tainted_buffer);
}

// A tensor that a fault has tainted, and an overwrite of it that waits for a flag and is cancelled.
TEST_P(Fault, CancelledOverwriteLeavesTheTaintAndItsReadersFail) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  auto tainted = gpu.tensor<float>({8}).value();
  auto copied = gpu.tensor<float>({8}, initial::zero).value();
  ASSERT_FALSE(
      ended(gpu.ask(fault::inject{.what = fault::kind::segmentation_fault, .output = tainted})));

  shared_flag flag(gpu);
  std::stop_source cancel;
  const library_actor lane = gpu.library("test").on_new_lane();
  auto held = lane.ask(hold{.flag = flag.tensor()});
  auto overwrite =
      lane.ask(memory::fill{.to = tainted, .value = 1.0F}, {.stop = cancel.get_token()});
  auto copy = gpu.ask(memory::copy{.from = tainted, .to = copied});
  auto reader = gpu.ask(sum{.input = copied});
  cancel.request_stop();
  auto cancelled = ended(std::move(overwrite));
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, errc::cancelled);
  flag.set();
  EXPECT_TRUE(ended(std::move(held)));
  auto refused = ended(std::move(copy));
  ASSERT_FALSE(refused) << "it relied on what was never written";
  EXPECT_EQ(refused.error().code, errc::tainted_buffer);
  auto read = reader.get_result();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::tainted_buffer);

  ASSERT_TRUE(ended(gpu.ask(memory::fill{.to = tainted, .value = 2.0F})));
  EXPECT_EQ(gpu.ask(sum{.input = tainted}).get(), 16.0);
}

TEST_P(Fault, TaintedTensorIsOverwrittenFromTheHostInPiecesOrByARequestOfAnyLayout) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  constexpr std::int64_t n = 1024;
  auto large = gpu.tensor<float>({n, n}).value();  // more than one piece of a copy
  const auto taint = [&](const any_tensor& t) {
    auto failed = ended(gpu.ask(fault::inject{.what = fault::kind::exit, .output = t}));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, errc::device_fault);
    EXPECT_TRUE(gpu.wait_until_ready());
  };
  taint(large);
  const std::vector<float> fresh(n * n, 1.0F);
  ASSERT_TRUE(ended(gpu.copy(std::span(fresh), large)));
  EXPECT_EQ(gpu.ask(sum{.input = large}).get(), 1.0 * n * n);

  auto square = gpu.tensor<float>({8, 8}, initial::zero).value();
  taint(square);
  ASSERT_TRUE(ended(gpu.ask(memory::fill{.to = square.transpose(), .value = 2.0F})));
  EXPECT_EQ(gpu.ask(sum{.input = square}).get(), 128.0) << "column-major leaves no gaps";

  const any_tensor left = *square.slice(1, 0, 4);
  taint(left);
  ASSERT_TRUE(ended(gpu.ask(memory::fill{.to = left, .value = 3.0F})));
  EXPECT_EQ(gpu.ask(sum{.input = square}).get(), 160.0) << "in the same places as the culprit";
}

TEST_P(Fault, RequestThatRunsInTwoKilledWorkersIsPoisonous) {
  device gpu = system_.device(0, config());
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
    kill_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() > before; }));
  }
  auto outcome = ended(std::move(held));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::poisonous);
}

TEST_P(Fault, SuspectsRunAloneSoThatASecondLossNamesTheGuilty) {
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

TEST_P(Fault, RequestThatKeepsCrashingIsRefusedTheThirdTime) {
  device gpu = system_.device(0, config());
  for (const errc expected : {errc::device_fault, errc::device_fault, errc::poisonous}) {
    settle(gpu, GetParam());
    auto outcome = ended(gpu.ask(fault::inject{.what = fault::kind::abort}));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, expected);
  }
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
  EXPECT_EQ(gpu.generation(), 3u);
}

TEST_P(Fault, HangIsEndedAtItsDeadlineAndTheRestGoesOn) {
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

TEST_P(Fault, HangIsEndedInTimeWhileOtherLanesAreBusy) {
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

TEST_P(Fault, StoppedWorkerIsReplacedAfterItsSilence) {
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

TEST_P(Fault, LongWorkIsNotTakenForSilence) {
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

TEST_P(Fault, StrayWriteToFrozenMemoryEndsTheWorkerAndNotTheData) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  const std::vector<float> weights(freezable, 0.5F);
  auto frozen = gpu.tensor<float>({freezable}).value();
  ASSERT_TRUE(ended(gpu.copy(std::span(weights), frozen)));
  ASSERT_TRUE(ended(gpu.freeze(frozen)));
  for (int i = 0; i < 2; ++i) {  // the second worker has it read-only, too
    auto stray = ended(gpu.ask(fault::inject{.what = fault::kind::write_frozen,
                                             .target = *frozen.slice(0, i, freezable)}));
    ASSERT_FALSE(stray);
    EXPECT_EQ(stray.error().code, errc::device_fault);
    EXPECT_EQ(gpu.ask(sum{.input = frozen}).get(), freezable / 2.0);
  }
  EXPECT_EQ(gpu.generation(), 3u);
}

TEST_P(Fault, NextWorkerSeesWhatTheLastOneWrote) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  const std::vector<float> values(100'000, 1.0F);
  auto kept = gpu.tensor<float>({100'000}).value();
  ASSERT_TRUE(ended(gpu.copy(std::span(values), kept)));
  kill_worker(gpu);
  EXPECT_EQ(gpu.ask(sum{.input = kept}).get(), 100'000.0);
}

TEST(Budget, FourthFailureWithinTheWindowStopsTheDevice) {
  troupe::system system;
  device_config c = permissive();
  c.restarts = {.restarts = 3, .window = 60s};
  device gpu = system.device(0, c);
  std::atomic<bool> told_of_the_end = false;
  gpu.watch_generation([&](std::optional<std::uint64_t> generation) {
    if (!generation) told_of_the_end = true;
  });
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(gpu.wait_until_ready());
    kill_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() == i + 1; }));
  }
  shared_flag flag(gpu);
  auto pending = gpu.ask(hold{.flag = flag.tensor()});
  kill_worker(gpu);
  auto outcome = ended(std::move(pending));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_stopped);
  EXPECT_TRUE(eventually([&] { return gpu.health().state == device_state::stopped; }));
  auto late = ended(gpu.ask(lane::marker{}));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::device_stopped);
  EXPECT_TRUE(eventually([&] { return told_of_the_end.load(); }));
  EXPECT_EQ(gpu.health().restarts, 3u);
}

TEST(Budget, FailureAfterTheWindowRestartsAgain) {
  troupe::system system;
  device_config c = permissive();
  c.restarts = {.restarts = 1, .window = 100ms};
  device gpu = system.device(0, c);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(gpu.wait_until_ready());
    kill_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() == i + 1; }));
    std::this_thread::sleep_for(110ms);  // the window itself
  }
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
}

}  // namespace
}  // namespace troupe::test
