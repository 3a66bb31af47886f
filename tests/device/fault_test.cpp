// Each kind of fault: who fails, who is answered, and what comes back.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Fault : public device_under_fault {};
INSTANTIATE_TEST_SUITE_P(Standby, Fault, ::testing::Bool(), with_or_without);

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
INSTANTIATE_TEST_SUITE_P(Standby, EachKind, ::testing::Bool(), with_or_without);

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
  // A GPU continues with the killed worker's kernel for a while: requests that it still ends do not
  // run again.
  ASSERT_TRUE(eventually([&] { return gpu.generation() == 2; }));
  flag.set();
  EXPECT_TRUE(ended(std::move(held)));
  EXPECT_EQ(after.get(), 16.0);
  if (!on_gpu()) {
    EXPECT_EQ(gpu.statistics().replayed, 1u);
  }
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

}  // namespace
}  // namespace troupe::test
