// Pipelines of requests: several items in flight, in order, through faults.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/pipeline.hpp>

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <span>
#include <vector>

namespace troupe::test {
namespace {

using numbers = std::array<float, 16>;

struct places {
  tensor<float> x, y;
  numbers result{};
};

class PipelineOfRequests : public either_isolation {
 protected:
  /// Sends 3 · in and multiplies it by itself. A fault in an item of which the first number is
  /// negative.
  auto make(int in_flight) {
    return pipeline_of<numbers>({.in_flight = in_flight},
                                [this] {
                                  return places{gpu_.tensor<float>({4, 4}).value(),
                                                gpu_.tensor<float>({4, 4}).value()};
                                })
        .stage("upload", [this](places& p,
                                numbers& in) { return gpu_.copy(std::span<const float>(in), p.x); })
        .stage("compute",
               [this](places& p, numbers& in) {
                 std::vector<future<void>> sent;
                 sent.push_back(gpu_.ask(blas::scal{.x = p.x.reshape({16}).value(), .alpha = 3}));
                 if (in[0] < 0)
                   sent.push_back(gpu_.ask(
                       fault::inject{.what = fault::kind::segmentation_fault, .output = p.y}));
                 sent.push_back(gpu_.ask(blas::gemm{.a = p.x, .b = p.x, .c = p.y}));
                 return sent;
               })
        .stage("download", [this](places& p) { return gpu_.copy(p.y, std::span<float>(p.result)); })
        .last("result", [](places& p) { return p.result; });
  }
  static numbers input(int i) {
    numbers in{};
    for (std::size_t k = 0; k < in.size(); ++k)
      in[k] = static_cast<float>((static_cast<std::size_t>(i) + k) % 7);
    return in;
  }
  static numbers expected(int i) {
    const numbers in = input(i);
    numbers out{};
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t column = 0; column < 4; ++column) {
        for (std::size_t k = 0; k < 4; ++k)
          out[4 * row + column] += 9 * in[4 * row + k] * in[4 * k + column];
      }
    }
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, PipelineOfRequests,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(PipelineOfRequests, AnswersEachItemRightWithSeveralInFlight) {
  auto items = make(4);
  std::vector<future<numbers>> all;
  all.reserve(200);
  for (int i = 0; i < 200; ++i)
    all.push_back(items.push(input(i)));
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(all[static_cast<std::size_t>(i)].get(), expected(i)) << i;
}

TEST_P(PipelineOfRequests, GoesOnWhenItsWorkerIsKilled) {
  if (GetParam() != isolation::process) GTEST_SKIP() << "a thread cannot be killed";
  auto items = make(8);
  std::vector<future<numbers>> all;
  int right = 0;
  int aborted = 0;
  for (int i = 0; i < 300; ++i) {
    all.push_back(items.push(input(i)));
    if (i % 60 != 30) continue;
    ASSERT_TRUE(gpu_.wait_until_ready());
    ::kill(gpu_.worker_pid().value(), SIGKILL);
  }
  for (int i = 0; i < 300; ++i) {
    auto outcome = all[static_cast<std::size_t>(i)].get_result();
    if (outcome) {
      ASSERT_EQ(*outcome, expected(i)) << i;
      ++right;
    } else {
      // It was scaling in place, which cannot be repeated, or read what that had left.
      EXPECT_TRUE(outcome.error().code == errc::aborted ||
                  outcome.error().code == errc::tainted_buffer)
          << outcome.error().to_string();
      ++aborted;
    }
  }
  EXPECT_GT(right, 250);
  EXPECT_EQ(right + aborted, 300);
}

TEST_P(PipelineOfRequests, IsShownInTheGuide) {
  device gpu = gpu_;
  const auto weights = gpu.tensor<float>({4, 4}, initial::zero).value();
  // region: pipeline
  struct frame {
    tensor<float> x, y;
    std::array<float, 16> result{};
  };
  auto items =
      pipeline_of<std::array<float, 16>>({.in_flight = 4},
                                         [&] {
                                           return frame{gpu.tensor<float>({4, 4}).value(),
                                                        gpu.tensor<float>({4, 4}).value()};
                                         })
          .stage("upload",
                 [&](frame& f, auto& in) { return gpu.copy(std::span<const float>(in), f.x); })
          .stage("multiply",
                 [&](frame& f) { return gpu.ask(blas::gemm{.a = f.x, .b = weights, .c = f.y}); })
          .stage("download", [&](frame& f) { return gpu.copy(f.y, std::span<float>(f.result)); })
          .last("result", [](frame& f) { return f.result; });

  future<std::array<float, 16>> one = items.push({1, 2, 3});
  // endregion: pipeline
  EXPECT_EQ(one.get(), (std::array<float, 16>{}));
}

TEST_P(PipelineOfRequests, AFaultCostsItsItemAlone) {
  if (GetParam() != isolation::process) GTEST_SKIP() << "a fault would end the program";
  auto items = make(1);
  numbers poisoned = input(3);
  poisoned[0] = -1;
  auto before = items.push(input(1));
  auto culprit = items.push(poisoned);
  auto after = items.push(input(2));
  EXPECT_EQ(before.get(), expected(1));
  auto outcome = culprit.get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_fault);
  EXPECT_TRUE(outcome.error().message.starts_with("stage compute: "));
  EXPECT_EQ(after.get(), expected(2));
}

}  // namespace
}  // namespace troupe::test
