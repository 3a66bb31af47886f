// Order between lanes, proven with work that goes on until a flag is set.

#include "device/fixtures/operations.hpp"

#include <troupe/core/actor.hpp>
#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Order : public ::testing::TestWithParam<isolation> {
 protected:
  Order() : gpu_(system_.device(0, config())) { EXPECT_TRUE(gpu_.wait_until_ready()); }

  static device_config config() {
    device_config c = permissive();
    c.isolation = GetParam();
    return c;
  }

  troupe::system system_;
  device gpu_;
};

INSTANTIATE_TEST_SUITE_P(Isolation, Order, ::testing::Values(isolation::process, isolation::thread),
                         [](const auto& which) {
                           return std::string(which.param == isolation::process ? "Process"
                                                                                : "Thread");
                         });

TEST_P(Order, ReadWaitsForAnEarlierWriteInAnotherLane) {
  shared_flag flag(gpu_);
  auto t = gpu_.tensor<float>({16}).value();
  const library_actor one = gpu_.library("test");
  const library_actor other = one.on_new_lane();
  auto write = one.ask(hold{.flag = flag.tensor(), .output = t, .value = 1});
  auto read = other.ask(sum{.input = t});
  // Something else of the reader's device does go on meanwhile.
  EXPECT_TRUE(one.on_new_lane().ask(lane::marker{}).get_result());
  EXPECT_FALSE(read.ready());
  flag.set();
  EXPECT_EQ(read.get(), 16.0);
  EXPECT_TRUE(write.get_result());
}

TEST_P(Order, WriteWaitsForAnEarlierReadInAnotherLane) {
  shared_flag flag(gpu_);
  shared_flag open(gpu_);
  open.set();
  const std::vector<float> threes(16, 3.0F);
  auto source = gpu_.tensor<float>({16}).value();
  ASSERT_TRUE(gpu_.copy(std::span(threes), source).get_result());
  const library_actor one = gpu_.library("test");
  const library_actor other = one.on_new_lane();
  auto held = one.ask(hold{.flag = flag.tensor()});
  auto read = one.ask(sum{.input = source});  // has not begun: it waits in its lane
  auto write = other.ask(hold{.flag = open.tensor(), .output = source, .value = 5});
  EXPECT_TRUE(one.on_new_lane().ask(lane::marker{}).get_result());
  EXPECT_FALSE(write.ready());
  flag.set();
  EXPECT_EQ(read.get(), 48.0);
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(write.get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = source}).get(), 80.0);
}

TEST_P(Order, WriteWaitsForAnEarlierUpdateInAnotherLane) {
  shared_flag flag(gpu_);
  auto source = gpu_.tensor<float>({16}, initial::zero).value();
  const library_actor one = gpu_.library("test");
  const library_actor other = one.on_new_lane();
  auto reader = one.ask(hold{.flag = flag.tensor(), .output = source, .value = 1, .add = true});
  auto writer = other.ask(hold{.flag = flag.tensor(), .output = source, .value = 5});
  EXPECT_TRUE(one.on_new_lane().ask(lane::marker{}).get_result());
  EXPECT_FALSE(writer.ready());
  flag.set();
  EXPECT_TRUE(reader.get_result());
  EXPECT_TRUE(writer.get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = source}).get(), 80.0);
}

TEST_P(Order, DisjointPartsOfABufferDoNotWaitForEachOther) {
  shared_flag flag(gpu_);
  shared_flag open(gpu_);
  open.set();
  auto t = gpu_.tensor<float>({16}).value();
  auto left = *t.slice(0, 0, 8);
  auto right = *t.slice(0, 8, 16);
  auto held = gpu_.library("test").ask(hold{.flag = flag.tensor(), .output = left, .value = 1});
  EXPECT_TRUE(gpu_.library("test")
                  .on_new_lane()
                  .ask(hold{.flag = open.tensor(), .output = right, .value = 2})
                  .get_result());
  EXPECT_FALSE(held.ready());
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 24.0);
}

TEST_P(Order, OneLaneRunsInTheOrderSent) {
  auto t = gpu_.tensor<float>({1}, initial::zero).value();
  shared_flag open(gpu_);
  open.set();
  const library_actor lane = gpu_.library("test");
  std::vector<future<void>> answers;
  answers.reserve(300);
  for (int i = 0; i < 300; ++i) {
    answers.push_back(lane.ask(hold{
        .flag = open.tensor(), .output = t, .value = static_cast<double>(i), .add = i % 2 == 1}));
  }
  for (auto& one : answers)
    ASSERT_TRUE(one.get_result());
  // Each odd request adds to what the even one before it set: 298 + 299.
  EXPECT_EQ(lane.ask(sum{.input = t}).get(), 597.0);
}

TEST_P(Order, PoolOfLanesRunsRequestsBesideEachOther) {
  shared_flag flag(gpu_);
  const library_actor pool = gpu_.library("test").on_new_lanes(2);
  auto held = pool.ask(hold{.flag = flag.tensor()});
  EXPECT_TRUE(pool.ask(lane::marker{}).get_result());  // in the other lane
  auto behind = pool.ask(lane::marker{});              // in the lane of the first
  auto beside = pool.ask(lane::marker{});
  EXPECT_TRUE(beside.get_result());
  EXPECT_FALSE(behind.ready());
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(behind.get_result());
}

TEST(Lanes, PolicyOneKeepsAllLibrariesInTheOrderSent) {
  troupe::system system;
  device_config config = permissive();
  config.lanes = lane_policy::one();
  device gpu = system.device(0, config);
  shared_flag flag(gpu);
  auto held = gpu.ask(hold{.flag = flag.tensor()});
  auto other = gpu.ask(lane::marker{});
  EXPECT_FALSE(other.wait_for(std::chrono::milliseconds(20)));
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(other.get_result());
}

TEST_P(Order, ManyThreadsGetEachTheirOwnAnswers) {
  constexpr int threads = 4;
  constexpr int each = 2000;
  std::vector<std::jthread> senders;
  senders.reserve(threads);
  std::atomic<int> wrong = 0;
  for (int s = 0; s < threads; ++s) {
    senders.emplace_back([&, s] {
      auto t = gpu_.tensor<float>({s + 1}).value();
      const std::vector<float> ones(static_cast<std::size_t>(s + 1), 1.0F);
      if (!gpu_.copy(std::span(ones), t).get_result()) ++wrong;
      for (int i = 0; i < each; ++i) {
        auto answer = gpu_.ask(sum{.input = t}).get_result();
        if (!answer || *answer != s + 1) ++wrong;
      }
    });
  }
  senders.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(gpu_.generation(), 1u) << gpu_.health().last_fault->to_string();
}

// Sums a tensor up twice without holding its thread while the device works.
class summer final : public actor {
 public:
  struct both {
    tensor<float> first;
    tensor<float> second;
  };
  struct question {};
  explicit summer(const device& on) : on_(on) {}
  task<double> handle(both b) {
    const double first = co_await on_.ask(sum{.input = b.first});
    const double second = co_await on_.ask(sum{.input = b.second});
    co_return first + second;
  }
  task<errc> handle(tensor<float> column) {
    // A refusal comes as the exception that `get` would throw.
    try {
      co_await on_.ask(sum{.input = column});
    } catch (const failure& f) {
      co_return f.code();
    }
    co_return errc{};
  }
  int handle(question) { return 7; }

 private:
  device on_;
};

TEST_P(Order, AHandlerThatAwaitsTheDeviceGoesOnWithItsAnswer) {
  shared_flag flag(gpu_);
  auto first = gpu_.tensor<float>({16}).value();
  auto second = gpu_.tensor<float>({4, 4}, initial::zero).value();
  auto awaiting = system_.spawn<summer>(gpu_);
  auto beside = system_.spawn<summer>(gpu_);
  auto held = gpu_.ask(hold{.flag = flag.tensor(), .output = first, .value = 1});
  auto answer = awaiting.ask(summer::both{first, second});
  EXPECT_EQ(beside.ask(summer::question{}).get(), 7) << "the pool's threads are free meanwhile";
  EXPECT_FALSE(answer.ready());
  flag.set();
  EXPECT_EQ(answer.get(), 16.0);
  EXPECT_TRUE(held.get_result());
  EXPECT_EQ(awaiting.ask(second.transpose().slice(0, 0, 2).value()).get(),
            errc::layout_unsupported);
}

}  // namespace
}  // namespace troupe::test
