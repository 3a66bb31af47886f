// A world whose workers are killed, and whose parts fail.
#include "worlds/accumulator.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>
#include <string>

namespace troupe::worlds {
namespace {

using namespace std::chrono_literals;

int setting(const char* name, int usual) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? std::atoi(text) : usual;
}

// TROUPE_WORLD_KILLS=n: so many.
TEST(WorldHealing, NoSumIsLostOrWrongWhoeverIsKilled) {
  system s;
  world w = s.world(devices_of(s, 3, small(true)), {.staging_bytes = 64 << 10});
  // In place in several pieces; short; and longer than what passes through staging memory.
  accumulator pieces(w, 5'000), brief(w, 7), longer(w, 40'000);
  std::atomic<bool> over{false};
  std::jthread killer([&](const std::stop_token& stop) {
    std::mt19937 random(20261127);
    const int kills = setting("TROUPE_WORLD_KILLS", 40);
    for (int done = 0; done < kills && !stop.stop_requested();) {
      const std::size_t victims = random() % 4 == 0 ? w.size() : 1 + random() % 2;
      const std::size_t first = random() % w.size();
      for (std::size_t i = 0; i < victims; ++i) {
        const auto pid = w.rank((first + i) % w.size()).worker_pid();
        if (pid && ::kill(*pid, SIGKILL) == 0) ++done;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(10'000 + random() % 60'000));
    }
    over = true;
  });
  std::uint64_t sums = 0;
  std::deque<future<void>> under_way;
  const auto settle = [&](std::size_t most) {
    while (under_way.size() > most) {
      const auto outcome = under_way.front().get_result();
      ASSERT_TRUE(outcome) << outcome.error().to_string();
      under_way.pop_front();
      ++sums;
    }
  };
  while (!over) {
    under_way.push_back(pieces.in_place());
    under_way.push_back(brief.over());
    under_way.push_back(longer.over());
    under_way.push_back(brief.in_place());
    settle(40);
    if (testing::Test::HasFatalFailure()) break;
    if (sums % 200 < 4) {
      settle(0);
      ASSERT_TRUE(pieces.is_right() && brief.is_right() && longer.is_right()) << sums;
    }
  }
  settle(0);
  EXPECT_TRUE(pieces.is_right() && brief.is_right() && longer.is_right());
  std::uint64_t replayed = 0;
  for (std::size_t rank = 0; rank < w.size(); ++rank)
    replayed += w.rank(rank).statistics().replayed;
  EXPECT_EQ(w.health().failed, 0U);
  EXPECT_GT(replayed, 0U);
  std::cout << sums << " sums, " << replayed << " parts ran again\n";
}

class WorldOfTwo : public testing::Test {
 protected:
  system s_;
  std::vector<device> devices_ = devices_of(s_, 2);
  world w_ = s_.world(devices_);
  accumulator sums_{w_, 1000};

  /// The part of rank 0 has begun, that of rank 1 has not.
  void await_rank_0() {
    EXPECT_TRUE(comes_true([&] {
      const auto under_way = w_.health().under_way;
      return under_way.size() == 1 &&
             under_way[0].ranks ==
                 std::vector{world_operation::progress::runs, world_operation::progress::waits};
    }));
  }
};

TEST_F(WorldOfTwo, WaitsForARankThatIsLateWithoutHoldingUpOtherRequests) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  auto held = devices_[1].mapped(sums_.tensors()[1], access::read).get();
  auto sum = sums_.in_place();
  await_rank_0();
  EXPECT_EQ(w_.health().under_way[0].request, "collective.all_reduce");
  auto t = devices_[0].tensor<float>({1000}).value();
  EXPECT_TRUE(devices_[0].ask(memory::fill{.to = t, .value = 2}).get_result());
  EXPECT_FALSE(sum.ready());
  held.unmap();
  EXPECT_TRUE(sum.get_result());
  EXPECT_TRUE(sums_.is_right());
}

TEST_F(WorldOfTwo, RunsAPartAgainThatWaitedWhenAnotherRequestCrashed) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  auto held = devices_[1].mapped(sums_.tensors()[1], access::read).get();
  auto sum = sums_.in_place();
  await_rank_0();
  for (int i = 0; i < 2; ++i) {
    const auto crash = devices_[0].ask(fault::inject{.what = fault::kind::abort}).get_result();
    ASSERT_FALSE(crash);
    EXPECT_EQ(crash.error().code, errc::device_fault) << crash.error().to_string();
  }
  held.unmap();
  const auto outcome = sum.get_result();
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(sums_.is_right());
}

TEST_F(WorldOfTwo, FailsOnAllRanksIfADeviceStopsAndGoesOnAfterItsRestart) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  const auto x = sums_.tensors();
  const auto y = w_.tensors<std::uint64_t>({1000}).value();
  auto held = devices_[1].mapped(y[1], access::read).get();
  auto sum = w_.ask(collective::all_reduce{.x = x, .y = y});
  auto next = w_.ask(collective::barrier{});
  auto copy = devices_[0].tensor<std::uint64_t>({1000}).value();
  auto dependent = devices_[0].ask(memory::copy{.from = y[0], .to = copy});
  EXPECT_TRUE(comes_true([&] { return w_.health().under_way.size() == 2; }));
  devices_[1].stop();
  held.unmap();
  const auto outcome = sum.get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::aborted);
  EXPECT_NE(outcome.error().message.find("collective.all_reduce #1 failed on rank 1"),
            std::string::npos)
      << outcome.error().message;
  ASSERT_NE(outcome.error().cause, nullptr);
  EXPECT_EQ(outcome.error().cause->code, errc::device_stopped);
  EXPECT_FALSE(next.get_result());
  const auto read = dependent.get_result();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::tainted_buffer) << read.error().to_string();

  const auto refused = w_.ask(collective::barrier{}).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::device_stopped);
  EXPECT_EQ(refused.error().device, 1);
  ASSERT_TRUE(devices_[1].restart());
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(sums_.in_place().get_result());
  EXPECT_TRUE(sums_.over().get_result());
  EXPECT_TRUE(sums_.is_right());
  EXPECT_EQ(w_.health().failed, 2U);
}

// The worker of rank 1 crashes in the part itself, so the part is to blame and does not run again.
TEST_F(WorldOfTwo, FailsOnAllRanksIfAPartIsToBlame) {
  const auto x = w_.tensors<float>({200'000}).value();
  const auto y = w_.tensors<float>({200'000}).value();
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_TRUE(devices_[rank].ask(memory::fill{.to = x[rank], .value = 1}).get_result());
  // Its device gives rank 1 no memory behind the tensor any more.
  const auto withdrawn =
      devices_[1].ask(fault::inject{.what = fault::kind::withdraw, .target = y[1]}).get_result();
  if (!withdrawn) GTEST_SKIP() << withdrawn.error().to_string();
  const auto outcome = w_.ask(collective::all_reduce{.x = x, .y = y}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::aborted);
  ASSERT_NE(outcome.error().cause, nullptr);
  EXPECT_EQ(outcome.error().cause->code, errc::device_fault);
  EXPECT_TRUE(w_.ask(collective::all_reduce{.x = x, .y = y}).get_result())
      << "the next worker has the memory";
  EXPECT_TRUE(sums_.in_place().get_result());
  EXPECT_TRUE(sums_.is_right());
}

}  // namespace
}  // namespace troupe::worlds
