// The claims of every test of an operation.
#include "running_sum.hpp"

#include <troupe/device/device.hpp>
#include <troupe/plugin/worker_entry.hpp>
#include <troupe/request/argument_checks.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace worked_example {
namespace {

/// A request that counts how often it is checked, and is valid only in this process: a worker
/// process's refusal shows that it has checked by itself.
struct doubted_sum {
  static constexpr std::string_view name = "signal.doubted_sum";
  using reply = double;

  troupe::any_tensor x{};
  troupe::any_tensor y{};

  static inline std::atomic<int> checks{0};
  static inline std::atomic<pid_t> trusting{0};

  static void describe(troupe::description<doubted_sum>& d) {
    const troupe::extent n = d.size("n");
    d.about("Is valid in one process only.");
    d.reads("x", &doubted_sum::x, {n}, "numbers");
    d.writes("y", &doubted_sum::y, {n}, "as many numbers");
    d.rule("it is in the process that trusts it",
           [](troupe::argument_checks& check, const doubted_sum&) {
             ++checks;
             check.rule(trusting == ::getpid(), troupe::errc::numerical,
                        [] { return std::string("doubted elsewhere"); });
           });
  }
};

void add_operations_of_test(troupe::operation_table& operations) {
  add_operations(operations);
  operations.add(
      +[](const doubted_sum&, troupe::lane_context&) -> troupe::result<double> { return 0.0; });
}

class RunningSum : public testing::TestWithParam<troupe::isolation> {
 protected:
  troupe::device make() {
    return system_.device(0, {.isolation = GetParam(),
                              .memory_limit_bytes = 64 << 20,
                              .lane_threads = 2,
                              .own_operations = &add_operations_of_test});
  }
  static void fill(const troupe::host_tensor<float>& t) {
    for (std::int64_t i = 0; i < t.count(); ++i)
      t[i] = static_cast<float>(i + 1);
  }

  troupe::system system_;
};

TEST_P(RunningSum, RunsWhereverTheWorkerIs) {
  troupe::device device = make();
  auto x = device.host_tensor<float>({4}).value();
  auto y = device.host_tensor<float>({4}).value();
  fill(x);
  EXPECT_EQ(device.ask(running_sum{.x = x, .y = y}).get(), 10.0);
  EXPECT_EQ(std::vector<float>(y.elements().begin(), y.elements().end()),
            (std::vector<float>{1, 3, 6, 10}));
}

TEST_P(RunningSum, TakesEveryStride) {
  troupe::device device = make();
  auto x = device.host_tensor<float>({3, 4}).value();
  auto y = device.host_tensor<float>({3}).value();
  fill(x);
  const auto column = x.slice(1, 1, 2).value();  // 2, 6, 10
  const auto vector = column.as_strided({3}, std::vector<std::int64_t>{4}).value();
  EXPECT_EQ(device.ask(running_sum{.x = vector, .y = y}).get(), 18.0);
  EXPECT_EQ(y[2], 18.0f);
}

TEST_P(RunningSum, IsRefusedBeforeAnythingIsQueuedAndSaysWhy) {
  troupe::device device = make();
  auto x = device.host_tensor<float>({4}).value();
  auto y = device.host_tensor<float>({5}).value();
  auto refused = device.ask(running_sum{.x = x, .y = y}).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, troupe::errc::shape_mismatch);
  EXPECT_EQ(refused.error().request, "signal.running_sum x=<f32>[4] y=<f32>[5]");
  EXPECT_EQ(device.ask(running_sum{.x = x, .y = x}).get_result().error().code,
            troupe::errc::aliasing);
  EXPECT_EQ(device.statistics().answered, 0u);
}

TEST_P(RunningSum, RefusesEachKindOfWrongArgumentByName) {
  troupe::device device = make();
  auto x = device.host_tensor<float>({4}).value();
  auto y = device.host_tensor<float>({4}).value();
  const auto why = [&](const troupe::any_tensor& from, const troupe::any_tensor& to) {
    auto outcome = device.ask(running_sum{.x = from, .y = to}).get_result();
    return outcome ? std::string("taken") : std::string(to_string(outcome.error().code));
  };
  EXPECT_EQ(why(x, device.host_tensor<double>({4}).value()), "type_mismatch");
  EXPECT_EQ(why(x, x), "aliasing");
  EXPECT_EQ(why(x, y.as_strided({4}, std::vector<std::int64_t>{0}).value()), "aliasing");
  EXPECT_EQ(why(x, y), "taken");
}

TEST_P(RunningSum, IsCheckedOnBothSides) {
  troupe::device device = make();
  auto x = device.host_tensor<float>({4}).value();
  auto y = device.host_tensor<float>({4}).value();
  ASSERT_TRUE(device.wait_until_ready());
  doubted_sum::checks = 0;
  doubted_sum::trusting = ::getpid();
  auto outcome = device.ask(doubted_sum{.x = x, .y = y}).get_result();
  if (GetParam() == troupe::isolation::thread) {
    EXPECT_EQ(doubted_sum::checks, 2);
    EXPECT_TRUE(outcome);
  } else {
    EXPECT_EQ(doubted_sum::checks, 1) << "the worker counts in memory of its own";
    ASSERT_FALSE(outcome) << "the worker took what it should have checked";
    EXPECT_EQ(outcome.error().message, "signal.doubted_sum: doubted elsewhere");
    EXPECT_EQ(device.generation(), 1u) << "a refusal is no fault";
  }
}

TEST_P(RunningSum, IsRunAgainWhereItsWorkerIsKilledInTheMiddleOfIt) {
  if (GetParam() == troupe::isolation::thread) GTEST_SKIP() << "there is no process to kill";
  constexpr int timeout = 20;
  constexpr std::int64_t n = 8 << 20;  // takes some 20 ms
  troupe::device device = system_.device(0, {.isolation = GetParam(),
                                             .restarts = {.restarts = timeout},
                                             .own_operations = &add_operations_of_test});
  const bool on_gpu = !device.description().uuid.empty();
  auto x = device.host_tensor<float>({n}).value();
  auto y = device.host_tensor<float>({n}).value();
  for (float& element : x.elements())
    element = 1.0f;
  ASSERT_TRUE(device.wait_until_ready());
  // Until the kill came before the end: a completed request is not run again.
  for (int tries = 0; device.statistics().replayed == 0 && tries < timeout; ++tries) {
    std::atomic_ref first(y[0]);
    first = 0.0f;
    const std::uint64_t generation = device.generation();
    auto answer = device.ask(running_sum{.x = x, .y = y});
    while (first == 0.0f && !answer.ready())
      std::this_thread::yield();
    ASSERT_EQ(::kill(device.worker_pid().value(), SIGKILL), 0);
    ASSERT_EQ(answer.get(), static_cast<double>(n));
    EXPECT_EQ(y[n - 1], static_cast<float>(n));
    while (device.generation() == generation)
      std::this_thread::yield();
    if (on_gpu) return;  // an executor is called there before its request counts as begun
  }
  EXPECT_GT(device.statistics().replayed, 0u);
}

INSTANTIATE_TEST_SUITE_P(In, RunningSum,
                         testing::Values(troupe::isolation::process, troupe::isolation::thread),
                         [](const testing::TestParamInfo<troupe::isolation>& tested) {
                           return std::string(
                               tested.param == troupe::isolation::process ? "Process" : "Thread");
                         });

}  // namespace
}  // namespace worked_example

int main(int argc, char** argv) {
  if (const auto status =
          troupe::worker_entry(argc, argv, &worked_example::add_operations_of_test)) {
    return *status;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
