// Copies of a program's own memory on a device of queues, whose memory is its own, like a GPU's: so
// that a crew of threads fills and empties staging memory, unless the machine has one processor.

#include "under_sanitizers.hpp"

#include <troupe/blas/level1_reductions.hpp>
#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// Bytes of floats: none, one, odd ones, a part, two parts, a few pieces, more than is on its way at
// once, and around each.
constexpr std::int64_t sizes[] = {0,         1,         7,         16'384,    32'768,
                                  32'769,    65'536,    65'537,    131'071,   500'001,
                                  1'048'576, 4'194'304, 4'194'305, 6'553'600, 10'000'001};
constexpr std::int64_t many_pieces = 9'000'001;  // 36 MB

std::vector<std::uint32_t> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<std::uint32_t> values(static_cast<std::size_t>(count));
  for (std::uint32_t& one : values)
    one = seed = seed * 1'664'525 + 1'013'904'223;
  return values;
}

class Spans : public testing::Test {
 protected:
  static device_config config() {
    return {.restarts = {.restarts = 1000},
            .backoff = {.initial = 1ms, .longest = 1ms},
            .fault_injection = true,
            .backend_path = QUEUES_PLUGIN};
  }
  static result<void> there_and_back(device& gpu, std::int64_t count, std::uint32_t seed) {
    const std::vector<std::uint32_t> sent = numbers(count, seed);
    std::vector<std::uint32_t> back(sent.size());
    auto t = gpu.tensor<std::uint32_t>({count}).value();
    auto there = gpu.copy(std::span(sent), t);
    auto here = gpu.copy(t, std::span(back));
    if (auto outcome = there.get_result(); !outcome) {
      (void)here.get_result();
      return outcome;
    }
    if (auto outcome = here.get_result(); !outcome) return outcome;
    EXPECT_TRUE(sent == back) << count << " numbers";
    return {};
  }

  troupe::system system_;
  device gpu_ = system_.device(0, config());
};

TEST_F(Spans, OfAnySizeComeBack) {
  for (const std::int64_t count : sizes) {
    auto outcome = there_and_back(gpu_, count, 1);
    EXPECT_TRUE(outcome) << outcome.error().to_string();
  }
}

TEST_F(Spans, OfLongElementsComeBack) {
  std::vector<std::complex<double>> sent(800'003);
  for (std::size_t i = 0; i < sent.size(); ++i)
    sent[i] = {static_cast<double>(i), -1.0};
  std::vector<std::complex<double>> back(sent.size());
  auto t = gpu_.tensor<std::complex<double>>({800'003}).value();
  gpu_.copy(std::span(std::as_const(sent)), t).get();
  gpu_.copy(t, std::span(back)).get();
  EXPECT_EQ(sent, back);
}

TEST_F(Spans, OfStridedTensorsComeBack) {
  const std::vector<std::uint32_t> sent = numbers(1'500'000, 3);
  auto t = gpu_.tensor<std::uint32_t>({1000, 1500}).value();
  gpu_.copy(std::span(sent), t.transpose()).get();
  std::vector<std::uint32_t> back(sent.size());
  gpu_.copy(t.transpose(), std::span(back)).get();
  EXPECT_EQ(sent, back);
}

TEST_F(Spans, AreCopiedBeforeWhatIsSentAfter) {
  auto t = gpu_.tensor<float>({many_pieces}).value();
  for (int i = 1; i <= 5; ++i) {
    std::vector<float> one(many_pieces, 0.0F);
    one.back() = static_cast<float>(i);
    one.front() = 1;
    auto there = gpu_.copy(std::span(std::as_const(one)), t);
    auto seen = gpu_.ask(blas::asum{.x = t});
    std::vector<float> back(many_pieces);
    auto here = gpu_.copy(t, std::span(back));
    auto overwritten = gpu_.ask(memory::fill{.to = t, .value = 9});
    EXPECT_EQ(seen.get().as<double>(), 1.0 + i);
    here.get();
    EXPECT_EQ(back, one);
    there.get();
    overwritten.get();
  }
}

TEST_F(Spans, OfSeveralThreadsDoNotMix) {
  std::vector<std::jthread> threads;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([this, seed] {
      for (std::uint32_t i = 0; i < 12; ++i) {
        const std::int64_t count = sizes[(i * seed + 3) % std::size(sizes)];
        auto outcome = there_and_back(gpu_, count, seed * 100 + i);
        EXPECT_TRUE(outcome) << outcome.error().to_string();
      }
    });
  }
}

TEST_F(Spans, ComeBackWhileWorkersAreKilled) {
  std::atomic<bool> done{false};
  std::atomic<int> ended{0};
  std::jthread killer([&] {
    for (int seen = -1; !done.load();) {
      std::this_thread::sleep_for(test::under_sanitizers ? 400ms : 40ms);
      // A request that is killed again and again is given up; on a busy machine none would end.
      if (std::exchange(seen, ended.load()) == ended.load()) continue;
      if (const auto pid = gpu_.worker_pid()) ::kill(*pid, SIGKILL);
    }
  });
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      threads.emplace_back([&, seed] {
        for (std::uint32_t i = 0; i < 10; ++i) {
          auto outcome = there_and_back(gpu_, i % 2 == 0 ? many_pieces : 300'001, seed + i);
          EXPECT_TRUE(outcome) << outcome.error().to_string();
          ++ended;
        }
      });
    }
  }
  done.store(true);
  killer.join();
  EXPECT_GT(gpu_.generation(), 1u);
  EXPECT_TRUE(there_and_back(gpu_, many_pieces, 99)) << "when it is over";
}

TEST_F(Spans, FindRoomInAMailboxOfFew) {
  for (const when_full full : {when_full::reject, when_full::wait}) {
    for (const std::uint32_t capacity : {1u, 2u, 3u}) {
      gpu_.stop();
      device_config small = config();
      small.mailbox_capacity = capacity;
      small.full = full;
      gpu_ = system_.device(0, small);
      auto t = gpu_.tensor<float>({many_pieces}).value();
      const std::vector<float> ones(many_pieces, 1.0F);
      auto there = gpu_.copy(std::span(ones), t).get_result();
      EXPECT_TRUE(there) << there.error().to_string();
      std::vector<float> back(many_pieces);
      auto here = gpu_.copy(t, std::span(back)).get_result();
      EXPECT_TRUE(here) << here.error().to_string();
      EXPECT_EQ(std::ranges::count(back, 1.0F), many_pieces);
    }
  }
}

TEST_F(Spans, ShareAMailboxOfFewOrAreRefusedAsAWhole) {
  gpu_.stop();
  device_config small = config();
  small.mailbox_capacity = 3;
  gpu_ = system_.device(0, small);
  const auto until_taken = [](auto&& copy) {
    for (;;) {
      auto outcome = copy().get_result();
      if (outcome) return;
      ASSERT_EQ(outcome.error().code, errc::mailbox_full);
      std::this_thread::yield();
    }
  };
  std::vector<std::jthread> threads;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&, seed] {
      auto t = gpu_.tensor<std::uint32_t>({1'500'001}).value();
      std::vector<std::uint32_t> back(1'500'001);
      for (std::uint32_t i = 0; i < 8; ++i) {
        const std::vector<std::uint32_t> sent = numbers(1'500'001, seed * 50 + i);
        until_taken([&] { return gpu_.copy(std::span(sent), t); });
        until_taken([&] { return gpu_.copy(t, std::span(back)); });
        EXPECT_TRUE(sent == back);
      }
    });
  }
}

TEST_F(Spans, OfAReleasedTensorAreRefused) {
  auto t = gpu_.tensor<float>({many_pieces}).value();
  gpu_.release(t);
  std::vector<float> values(many_pieces, 4.0F);
  for (auto outcome : {gpu_.copy(std::span(std::as_const(values)), t).get_result(),
                       gpu_.copy(t, std::span(values)).get_result()}) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::stale_buffer);
  }
  EXPECT_EQ(std::ranges::count(values, 4.0F), many_pieces);
}

TEST_F(Spans, EndWithTheReasonWhenTheirDeviceStops) {
  for (int i = 0; i < 12; ++i) {
    gpu_.stop();
    gpu_ = system_.device(0, config());
    ASSERT_TRUE(gpu_.wait_until_ready());
    std::jthread stops([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2 * i));
      gpu_.stop();
    });
    const std::vector<float> values(many_pieces, 1.0F);
    std::vector<float> back(many_pieces);
    auto t = gpu_.tensor<float>({many_pieces});
    while (t) {
      auto there = gpu_.copy(std::span(values), *t);
      auto here = gpu_.copy(*t, std::span(back));
      auto outcome = there.get_result();
      auto other = here.get_result();
      if (outcome && other) continue;
      EXPECT_EQ((outcome ? other : outcome).error().code, errc::device_stopped);
      break;
    }
  }
}

TEST_F(Spans, AreCopiedByContinuationsOfOthers) {
  const std::vector<std::uint32_t> sent = numbers(many_pieces, 5);
  std::vector<std::uint32_t> first(sent.size());
  std::vector<std::uint32_t> second(sent.size());
  auto t = gpu_.tensor<std::uint32_t>({many_pieces}).value();
  auto there = gpu_.copy(std::span(sent), t);
  // By the thread that ended the one before: a thread of the pool, or one with the reactor's role.
  // It may even wait there.
  auto here =
      gpu_.copy(t, std::span(first)).then([&] { return gpu_.copy(std::span(sent), t); }).then([&] {
        gpu_.copy(t, std::span(second)).get();
      });
  there.get();
  here.get();
  EXPECT_TRUE(sent == first);
  EXPECT_TRUE(sent == second);
}

}  // namespace
}  // namespace troupe
