// Deadlines, and ranks that hang: their workers are stopped in the middle of a part.
#include "worlds/accumulator.hpp"

#include <sys/wait.h>

#include <csignal>
#include <ctime>
#include <string>

namespace troupe::worlds {
namespace {

using namespace std::chrono_literals;
using progress = world_operation::progress;

class WorldLimits : public testing::Test {
 protected:
  system s_;
  std::vector<device> devices_ = [this] {
    auto config = small(true);
    config.silence_timeout = 60s;  // it would replace a stopped worker, which then runs again
    return devices_of(s_, 3, config);
  }();
  world w_ = s_.world(devices_, {.run_limit = 250ms});
  per_rank<std::uint64_t> x_ = w_.tensors<std::uint64_t>({50'000}).value();
  per_rank<std::uint64_t> y_ = w_.tensors<std::uint64_t>({50'000}).value();

  void SetUp() override {
    for (std::size_t rank = 0; rank < 3; ++rank)
      EXPECT_TRUE(devices_[rank].ask(memory::fill{.to = x_[rank], .value = 2}).get_result());
  }
  auto sum(const request_options& options = {}) {
    return w_.ask(collective::all_reduce{.x = x_, .y = y_}, options);
  }
  void await(std::vector<progress> ranks) {
    EXPECT_TRUE(comes_true([&] {
      const auto under_way = w_.health().under_way;
      return !under_way.empty() && under_way[0].ranks == ranks;
    }));
  }
  /// Its threads stop one after the other.
  static void stop(device& one) {
    const pid_t worker = one.worker_pid().value();
    ASSERT_EQ(::kill(worker, SIGSTOP), 0);
    siginfo_t stopped{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(worker), &stopped, WSTOPPED | WNOWAIT), 0);
  }
  void expect_sum() {
    std::vector<std::uint64_t> got(50'000);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto copied = devices_[rank].copy(y_[rank], got).get_result();
      EXPECT_TRUE(copied) << copied.error().to_string();
      EXPECT_EQ(got, std::vector<std::uint64_t>(50'000, 6));
    }
  }
};

TEST_F(WorldLimits, DeadlinesAnswerTheCallerAndWithdrawNothing) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  auto held = devices_[2].mapped(y_[2], access::read).get();
  const auto late = sum({.deadline = 20ms}).get_result();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::deadline_exceeded);
  EXPECT_EQ(w_.health().under_way.size(), 1U);
  // Longer than the run limit, which does not count while a rank is late.
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 10) << "device threads look now and then";
  held.unmap();
  EXPECT_TRUE(comes_true([&] { return w_.health().under_way.empty(); }));
  expect_sum();
  EXPECT_TRUE(sum({.deadline = 10s}).get_result());
  EXPECT_EQ(w_.health().failed, 0U);
}

// Else the next but one would stage where a rank that is late still reads.
TEST_F(WorldLimits, AnOperationWithoutElementsWaitsForAllRanks) {
  const auto none = w_.tensors<std::uint64_t>({0}).value();
  stop(devices_[1]);
  auto done = w_.ask(collective::all_reduce{.x = none, .y = none});
  await({progress::runs, progress::waits, progress::runs});
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(w_.health().under_way.empty());
  await({progress::runs, progress::waits, progress::runs});
  ASSERT_EQ(::kill(devices_[1].worker_pid().value(), SIGCONT), 0);
  EXPECT_TRUE(done.get_result());
  EXPECT_EQ(w_.health().operations, 1U);
}

TEST_F(WorldLimits, AHangOfOneTwoOrAllRanksFailsOneOperation) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  for (std::size_t stopped = 1; stopped <= 3; ++stopped) {
    const auto generation = devices_[2].generation();
    auto held = devices_[2].mapped(y_[2], access::read).get();
    auto done = sum();
    await({progress::runs, progress::runs, progress::waits});
    for (std::size_t rank = 0; rank < std::min<std::size_t>(stopped, 2); ++rank)
      stop(devices_[rank]);
    held.unmap();
    await({progress::runs, progress::runs, progress::runs});
    if (stopped == 3) stop(devices_[2]);
    const auto outcome = done.get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::aborted);
    const std::string& text = outcome.error().message;
    for (const std::string& words :
         {std::string("hang: collective.all_reduce #"),
          std::string("run limit of its world, 250 ms"),
          std::string("rank 0 runs, rank 1 runs, rank 2 runs"),
          "rank " + std::to_string(stopped - 1) + " did not leave, so its worker was ended"}) {
      EXPECT_NE(text.find(words), std::string::npos) << text;
    }
    EXPECT_EQ(text.find("rank " + std::to_string(stopped) + " did not leave"), std::string::npos);
    EXPECT_EQ(w_.health().last_failure->message, text);
    EXPECT_EQ(w_.health().failed, stopped);
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(sum().get_result());
    expect_sum();
    // Unless it was stopped itself, it has left by itself.
    EXPECT_EQ(devices_[2].generation() == generation, stopped < 3);
  }
}

}  // namespace
}  // namespace troupe::worlds
