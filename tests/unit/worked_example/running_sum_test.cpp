#include "running_sum.hpp"

#include <troupe/device/device.hpp>
#include <troupe/worker/entry.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <string>
#include <vector>

namespace worked_example {
namespace {

/// The same operation, which counts how often it is validated: where the worker is a thread of this
/// program, that is on both sides.
struct counted_sum : running_sum {
  static constexpr std::string_view name = "signal.counted_sum";
  static inline std::atomic<int> validations{0};

  [[nodiscard]] troupe::result<void> validate() const {
    ++validations;
    return running_sum::validate();
  }
};

void add_operations_of_test(troupe::operation_table& operations) {
  add_operations(operations);
  operations.add(
      +[](const counted_sum&, troupe::lane_context&) -> troupe::result<double> { return 0.0; });
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
  // region: use
  troupe::device device =
      system_.device(0, {.isolation = GetParam(), .own_operations = &add_operations_of_test});
  auto x = device.host_tensor<float>({4}).value();
  auto y = device.host_tensor<float>({4}).value();
  for (std::int64_t i = 0; i < 4; ++i)
    x[i] = static_cast<float>(i + 1);
  const double sum = device.ask(running_sum{.x = x, .y = y}).get();
  // endregion: use
  EXPECT_EQ(sum, 10.0);
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

TEST_P(RunningSum, AnswersAfterItsWorkerWasKilled) {
  if (GetParam() == troupe::isolation::thread) GTEST_SKIP() << "there is no process to kill";
  troupe::device device = make();
  auto x = device.host_tensor<float>({1000}).value();
  auto y = device.host_tensor<float>({1000}).value();
  fill(x);
  ASSERT_TRUE(device.wait_until_ready());
  const pid_t first = device.worker_pid().value();
  std::vector<troupe::future<double>> answers;
  for (int i = 0; i < 200; ++i) {
    answers.push_back(device.ask(running_sum{.x = x, .y = y}));
    if (i == 100) ::kill(first, SIGKILL);
  }
  for (auto& answer : answers)
    ASSERT_EQ(answer.get(), 500'500.0);
  EXPECT_EQ(y[999], 500'500.0f);
  EXPECT_NE(device.worker_pid(), first);
}

TEST_P(RunningSum, IsValidatedOnBothSides) {
  troupe::device device = make();
  auto x = device.host_tensor<float>({4}).value();
  auto y = device.host_tensor<float>({4}).value();
  ASSERT_TRUE(device.wait_until_ready());
  counted_sum::validations = 0;
  counted_sum request;
  request.x = x;
  request.y = y;
  EXPECT_EQ(device.ask(std::move(request)).get(), 0.0);
  // A worker process counts in its own memory.
  EXPECT_EQ(counted_sum::validations, GetParam() == troupe::isolation::thread ? 2 : 1);
}

INSTANTIATE_TEST_SUITE_P(In, RunningSum,
                         testing::Values(troupe::isolation::process, troupe::isolation::thread),
                         [](const testing::TestParamInfo<troupe::isolation>& tested) {
                           return std::string(
                               tested.param == troupe::isolation::process ? "Process" : "Thread");
                         });

}  // namespace
}  // namespace worked_example

// region: main
int main(int argc, char** argv) {
  // First of all: in a process that a device has started, this serves requests and does not return
  // before the device lets it go.
  if (const auto status =
          troupe::worker_entry(argc, argv, &worked_example::add_operations_of_test)) {
    return *status;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
// endregion: main
