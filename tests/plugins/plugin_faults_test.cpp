// A failure in a plugin costs only its own request.

#include "plugin_device.hpp"

#include <troupe/memory/fill.hpp>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

namespace troupe::plugin_test {
namespace {

using namespace std::chrono_literals;

class PluginFault : public PluginDevice {};
INSTANTIATE_TEST_SUITE_P(On, PluginFault, ::testing::Values(backend_kind::cpu, backend_kind::cuda),
                         backend_name);

TEST_P(PluginFault, CrashFailsItsRequestAndNoOther) {
  device gpu = ready();
  constexpr std::size_t count = 200;
  constexpr std::size_t bad = 77;
  auto x = vector_of(gpu, {1, 2, 3});
  auto spoiled = vector_of(gpu, {4, 5, 6});
  std::vector<tensor<float>> results;
  std::vector<future<void>> answers;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == bad) {
      answers.push_back(gpu.ask(trial::misdeed{.what = trial::deed::crash, .y = spoiled}));
    } else {
      results.push_back(gpu.tensor<float>({3}).value());
      answers.push_back(
          gpu.ask(trial::affine{.x = x, .y = results.back(), .a = 2, .b = static_cast<double>(i)}));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto outcome = ended(std::move(answers[i]));
    if (i != bad) {
      ASSERT_TRUE(outcome) << i << ": " << outcome.error().to_string();
      continue;
    }
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_fault) << outcome.error().to_string();
    EXPECT_TRUE(contains(outcome.error().request, "trial.misdeed")) << outcome.error().request;
    if (!on_gpu()) {
      EXPECT_EQ(outcome.error().code_name, "SIGSEGV");
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto b = static_cast<float>(i < bad ? i : i + 1);
    EXPECT_EQ(values_of(gpu, results[i]), (std::vector<float>{2 + b, 4 + b, 6 + b}));
  }
  EXPECT_GE(gpu.health().restarts, 1u);

  // Its output is undefined until it is overwritten.
  const auto tainted = ended(gpu.ask(trial::total{.x = spoiled}));
  ASSERT_FALSE(tainted);
  EXPECT_EQ(tainted.error().code, errc::tainted_buffer) << tainted.error().to_string();
  EXPECT_TRUE(ended(gpu.ask(trial::affine{.x = x, .y = spoiled})));
  EXPECT_EQ(gpu.ask(trial::total{.x = spoiled}).get(), 6.0);
}

TEST_P(PluginFault, IsSurvivedByAStandbyThatHasThePluginToo) {
  device gpu = ready();
  const auto standby = gpu.health().standby_pid;
  ASSERT_TRUE(standby.has_value());
  EXPECT_FALSE(ended(gpu.ask(trial::misdeed{})));
  auto x = vector_of(gpu, {1, 2, 4});
  EXPECT_EQ(gpu.ask(trial::total{.x = x}).get(), 7.0);
  EXPECT_EQ(gpu.worker_pid(), standby);
}

TEST_P(PluginFault, RunsAgainWhatItsWorkerHadNotEnded) {
  device gpu = ready();
  shared_flag flag(gpu);
  auto x = vector_of(gpu, {1, 2, 3});
  auto y = gpu.tensor<float>({3}).value();
  auto held = gpu.ask(trial::affine{.x = x, .y = y, .until = flag.tensor(), .a = 3});
  EXPECT_FALSE(held.wait_for(20ms));
  ASSERT_EQ(::kill(gpu.worker_pid().value(), SIGKILL), 0);
  while (gpu.generation() < 2)
    std::this_thread::yield();
  flag.set();
  ASSERT_TRUE(ended(std::move(held)));
  EXPECT_EQ(values_of(gpu, y), (std::vector<float>{3, 6, 9}));
}

TEST_P(PluginFault, ThatIsAlwaysTheSameIsQuarantined) {
  device gpu = ready();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ended(gpu.ask(trial::misdeed{})).error().code, errc::device_fault);
  EXPECT_EQ(ended(gpu.ask(trial::misdeed{})).error().code, errc::poisonous);
  auto x = vector_of(gpu, {1});
  EXPECT_EQ(gpu.ask(trial::total{.x = x}).get(), 1.0);
  EXPECT_EQ(gpu.health().restarts, 2u);
}

TEST_P(PluginFault, HangEndsAtItsRunLimit) {
  device gpu = ready();
  shared_flag never(gpu);
  auto x = vector_of(gpu, {1});
  auto y = gpu.tensor<float>({1}).value();
  const auto begin = std::chrono::steady_clock::now();
  const auto hung =
      ended(gpu.ask(trial::affine{.x = x, .y = y, .until = never.tensor()}, {.run_limit = 100ms}));
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().code, errc::device_fault) << hung.error().to_string();
  EXPECT_LT(std::chrono::steady_clock::now() - begin,
            std::chrono::nanoseconds(trial::longest_wait_ns));
  EXPECT_EQ(gpu.ask(trial::total{.x = x}).get(), 1.0);
}

TEST_P(PluginFault, ThatIsAnErrorOrAnExceptionCostsNoWorker) {
  device gpu = ready();
  const auto thrown = ended(gpu.ask(trial::misdeed{.what = trial::deed::throw_exception}));
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, errc::handler_failed);
  EXPECT_TRUE(contains(thrown.error().message, "thrown by a plugin")) << thrown.error().message;
  const auto refused = ended(gpu.ask(trial::misdeed{.what = trial::deed::be_refused}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::library_error) << refused.error().to_string();
  if (on_gpu()) {
    EXPECT_EQ(refused.error().code_name, "cudaErrorInvalidValue");
    EXPECT_EQ(refused.error().call, "write_nowhere");
  }
  auto x = vector_of(gpu, {1});
  EXPECT_EQ(gpu.ask(trial::total{.x = x}).get(), 1.0);
  EXPECT_EQ(gpu.generation(), 1u);
}

}  // namespace
}  // namespace troupe::plugin_test
