// A full mailbox: requests that are refused, that wait, and that go in whole or not at all.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/blas/batched.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Room : public either_isolation {};
INSTANTIATE_TEST_SUITE_P(Isolation, Room, ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(Room, AThirdRequestIsRefusedByAMailboxOfTwo) {
  device_config config = this->config();
  config.mailbox_capacity = 2;
  device gpu = instead(config);
  shared_flag flag(gpu);
  auto t = gpu.tensor<float>({1}).value();
  auto first = gpu.ask(hold{.flag = flag.tensor(), .output = t, .value = 1});
  auto second = gpu.ask(hold{.flag = flag.tensor(), .output = t, .value = 2, .add = true});
  auto third = gpu.ask(lane::marker{}).get_result();
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, errc::mailbox_full);
  flag.set();
  EXPECT_TRUE(first.get_result());
  EXPECT_TRUE(second.get_result());
  EXPECT_EQ(gpu.ask(sum{.input = t}).get(), 3.0);
}

TEST_P(Room, ARequestTooLargeForTheMailboxIsRefusedWithBothSizes) {
  device_config config = this->config();
  config.mailbox_bytes = 4096;
  device gpu = instead(config);
  auto t = gpu.tensor<float>({2, 2}).value();
  blas::gemm_batched many;
  many.a.assign(500, t);
  many.b.assign(500, t);
  for (int i = 0; i < 500; ++i)
    many.c.push_back(gpu.tensor<float>({2, 2}).value());
  auto outcome = gpu.ask(many).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::size_overflow);
  EXPECT_NE(outcome.error().message.find("4096"), std::string::npos) << outcome.error().message;
}

TEST_P(Room, LongRequestsGoThroughTheHeap) {
  auto a = gpu_.tensor<float>({2, 2}).value();
  gpu_.ask(memory::fill{.to = a, .value = 2}).get();
  blas::gemm_batched many;
  many.a.assign(100, a);
  many.b.assign(100, a);
  std::vector<tensor<float>> outputs;
  for (int i = 0; i < 100; ++i) {
    outputs.push_back(gpu_.tensor<float>({2, 2}).value());
    many.c.push_back(outputs.back());
  }
  ASSERT_TRUE(gpu_.ask(many).get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = outputs[99]}).get(), 32.0);
}

TEST_P(Room, WaitingForRoomEndsWhenThereIsRoom) {
  device_config config = this->config();
  config.mailbox_capacity = 2;
  config.full = when_full::wait;
  device gpu = instead(config);
  std::vector<future<void>> answers;
  answers.reserve(200);
  for (int i = 0; i < 200; ++i)
    answers.push_back(gpu.ask(lane::marker{}));
  for (auto& one : answers)
    EXPECT_TRUE(one.get_result());
}

TEST_P(Room, WaitingForRoomEndsWithTheDevice) {
  for (int round = 0; round < 5; ++round) {
    device_config config = this->config();
    config.mailbox_capacity = 2;
    config.full = when_full::wait;
    device gpu = instead(config);
    ASSERT_TRUE(gpu.wait_until_ready());
    shared_flag flag(gpu);
    auto first = gpu.ask(hold{.flag = flag.tensor()});
    auto second = gpu.ask(hold{.flag = flag.tensor()});
    std::atomic<int> waiting = 0;
    std::atomic<int> unanswered = 0;
    {
      std::vector<std::jthread> senders;
      for (int i = 0; i < 4; ++i) {
        senders.emplace_back([&] {
          ++waiting;
          auto answer = gpu.ask(lane::marker{});
          if (!answer.wait_for(10s)) return void(++unanswered);
          const auto outcome = answer.get_result();
          EXPECT_TRUE(outcome || outcome.error().code == errc::device_stopped);
        });
      }
      EXPECT_TRUE(eventually([&] { return waiting == 4; }));
      std::this_thread::sleep_for(10ms);  // until they wait for room
      // A worker that is a thread ends only once its requests do.
      if (GetParam() == isolation::thread) flag.set();
      gpu.stop();
    }
    ASSERT_EQ(unanswered, 0) << "round " << round;
  }
}

TEST_P(Room, WaitingForRoomForLongRequestsEndsWhenThereIsRoom) {
  device_config config = this->config();
  config.mailbox_bytes = 64 << 10;
  config.full = when_full::wait;
  device gpu = instead(config);
  auto a = gpu.tensor<float>({2, 2}).value();
  gpu.ask(memory::fill{.to = a, .value = 2}).get();
  shared_flag flag(gpu);
  // In the lane that the others go to.
  auto held = gpu.library("blas").ask(hold{.flag = flag.tensor()});
  std::vector<tensor<float>> outputs;
  blas::gemm_batched many;
  many.a.assign(100, a);
  many.b.assign(100, a);
  for (int i = 0; i < 100; ++i) {
    outputs.push_back(gpu.tensor<float>({2, 2}).value());
    many.c.push_back(outputs.back());
  }
  // The first ones fill the heap; they are held until there is one that found no room.
  std::atomic<int> sent = 0;
  std::jthread sender([&] {
    std::vector<future<void>> answers;
    for (int i = 0; i < 20; ++i) {
      answers.push_back(gpu.ask(many));
      ++sent;
    }
    for (auto& one : answers) {
      auto outcome = one.get_result();
      EXPECT_TRUE(outcome) << outcome.error().to_string();
    }
  });
  EXPECT_FALSE(eventually([&] { return sent == 20; }, 50ms));
  auto late = gpu.ask(many, {.deadline = 10ms}).get_result();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::deadline_exceeded);
  flag.set();
  EXPECT_TRUE(held.get_result());
  sender.join();
  EXPECT_EQ(gpu.ask(sum{.input = outputs[99]}).get(), 32.0);
}

TEST_P(Room, WaitingForRoomWorksWithSomeLibrariesOnly) {
  device_config config = this->config();
  config.mailbox_capacity = 1;
  config.libraries = {"memory"};
  config.full = when_full::wait;
  device gpu = instead(config);
  auto t = gpu.tensor<float>({4}).value();
  std::vector<future<void>> answers(20);
  for (auto& one : answers)
    one = gpu.ask(memory::fill{.to = t, .value = 1});
  for (auto& one : answers)
    EXPECT_TRUE(one.get_result());
}

TEST_P(Room, AnIdleDeviceTakesACopyOfMorePiecesThanItHasSlots) {
  const std::vector<float> values(std::size_t{5} << 18, 1.0F);  // five pieces
  for (const std::uint32_t capacity : {1u, 2u, 3u}) {
    device_config config = this->config();
    config.mailbox_capacity = capacity;
    device gpu = instead(config);
    gpu_ = gpu;
    auto t = gpu.tensor<float>({static_cast<std::int64_t>(values.size())}).value();
    auto there = gpu.copy(std::span(values), t).get_result();
    EXPECT_TRUE(there) << there.error().to_string();
    std::vector<float> back(values.size());
    auto here = gpu.copy(t, std::span(back)).get_result();
    EXPECT_TRUE(here) << here.error().to_string();
    EXPECT_EQ(values, back);
  }
}

TEST_P(Room, ACopyIsTakenAsAWholeOrNotAtAll) {
  constexpr std::size_t count = std::size_t{3} << 18;  // three pieces
  device_config config = this->config();
  config.mailbox_capacity = 2;
  device gpu = instead(config);
  auto t = gpu.tensor<float>({count}, initial::zero).value();
  std::jthread other([&](const std::stop_token& stop) {
    const library_actor lane = gpu.library("test").on_new_lane();
    while (!stop.stop_requested()) {
      auto one = lane.ask(lane::marker{});
      (void)lane.ask(lane::marker{}).get_result();
      (void)one.get_result();
    }
  });
  const auto sum_there = [&] {
    for (;;) {
      auto answer = gpu.ask(sum{.input = t}).get_result();
      if (answer) return *answer;
    }
  };
  int last_taken = 0;
  for (int i = 1; i <= 100; ++i) {
    const std::vector<float> values(count, static_cast<float>(i));
    auto outcome = gpu.copy(std::span(values), t).get_result();
    if (outcome) {
      last_taken = i;
    } else {
      ASSERT_EQ(outcome.error().code, errc::mailbox_full);
    }
    ASSERT_EQ(sum_there(), static_cast<double>(last_taken) * count) << "copy " << i;
  }
  EXPECT_GT(last_taken, 0);
}

TEST_P(Room, AnAnswerMaySendTheNextRequestIntoItsOwnRoom) {
  for (const when_full full : {when_full::reject, when_full::wait}) {
    device_config config = this->config();
    config.mailbox_capacity = 1;
    config.full = full;
    device gpu = instead(config);
    gpu_ = gpu;
    auto last = gpu.ask(lane::marker{});
    for (int i = 0; i < 20; ++i) {
      last = std::move(last).then([&gpu] { return gpu.ask(lane::marker{}); });
    }
    ASSERT_TRUE(last.wait_for(20s));
    EXPECT_TRUE(last.get_result());
  }
}

}  // namespace
}  // namespace troupe::test
