// The life of a device: start, stop, generations, what it leaves behind.

#include "operations.hpp"
#include "programs.hpp"

#include <troupe/ops/fault/inject.hpp>
#include <troupe/ops/lane/launch.hpp>
#include <troupe/ops/lane/marker.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

TEST(Life, RequestsSentBeforeTheFirstWorkerIsReadyAreAnswered) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  std::vector<future<void>> answers;
  answers.reserve(100);
  for (int i = 0; i < 100; ++i)
    answers.push_back(gpu.ask(lane::marker{}));
  for (auto& one : answers)
    EXPECT_TRUE(one.get_result());
  EXPECT_EQ(gpu.generation(), 1u);
}

TEST(Life, ALaunchIsAnsweredWhicheverLibrariesAreEnabled) {
  troupe::system system;
  device_config config = permissive();
  device gpu = system.device(0, config);
  EXPECT_TRUE(gpu.ask(lane::launch{}).get_result());
  gpu.stop();
  config.libraries = {"memory"};
  EXPECT_TRUE(system.device(0, config).ask(lane::launch{}).get_result());
}

TEST(Life, StopFailsWhatWaitsAndWhatComes) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  shared_flag flag(gpu);
  std::vector<future<void>> answers;
  answers.reserve(50);
  for (int i = 0; i < 50; ++i)
    answers.push_back(gpu.ask(hold{.flag = flag.tensor()}));
  gpu.stop();
  for (auto& one : answers) {
    auto outcome = one.get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_stopped);
  }
  EXPECT_EQ(gpu.ask(lane::marker{}).get_result().error().code, errc::device_stopped);
  EXPECT_EQ(gpu.tensor<float>({1}).error().code, errc::device_stopped);
  EXPECT_EQ(gpu.health().state, device_state::stopped);
  EXPECT_FALSE(gpu.worker_pid());
  const device_statistics counts = gpu.statistics();
  EXPECT_EQ(counts.in_flight, 0u);
}

TEST(Life, StoppedDeviceCanBeMadeAgain) {
  troupe::system system;
  for (int i = 0; i < 3; ++i) {
    device gpu = system.device(0, permissive());
    EXPECT_TRUE(gpu.wait_until_ready());
    gpu.stop();
  }
}

TEST(Life, ShutdownLetsRequestsEnd) {
  future<void> held;
  {
    troupe::system system;
    device gpu = system.device(0, permissive());
    shared_flag flag(gpu);
    held = gpu.ask(hold{.flag = flag.tensor()});
    flag.set();
  }
  EXPECT_TRUE(held.get_result());
}

TEST(Life, WatchersSeeEachGenerationAndTheEnd) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  std::atomic<std::uint64_t> last = 0;
  std::atomic<bool> ended = false;
  gpu.watch_generation([&](std::optional<std::uint64_t> generation) {
    if (generation) {
      last = *generation;
    } else {
      ended = true;
    }
  });
  EXPECT_TRUE(eventually([&] { return last == 1; }));
  kill_worker(gpu);
  EXPECT_TRUE(eventually([&] { return last == 2; }));
  gpu.stop();
  EXPECT_TRUE(ended);
}

// Keeps the reason for which what it watches has ended.
class watcher final : public actor {
 public:
  explicit watcher(any_actor_ref watched) : watched_(std::move(watched)) {}
  void pre_start() override { watch(this, watched_); }
  void handle(terminated t) {
    reason_ = std::move(t.reason);
    ended_ = true;
  }
  struct question {};
  std::optional<errc> handle(question) {
    if (!ended_) return std::nullopt;
    return reason_ ? reason_->code : errc{};
  }

 private:
  any_actor_ref watched_;
  bool ended_ = false;
  std::optional<error> reason_;
};

TEST(Life, DeviceThatGivesUpEndsForItsWatchersWithItsError) {
  troupe::system system;
  device_config config = permissive();
  config.restarts = {.restarts = 0};
  device gpu = system.device(0, config);
  auto eyes = system.spawn<watcher>(gpu.actor());
  ASSERT_TRUE(gpu.wait_until_ready());
  EXPECT_EQ(eyes.ask(watcher::question{}).get(), std::nullopt);
  kill_worker(gpu);
  EXPECT_TRUE(eventually([&] { return eyes.ask(watcher::question{}).get().has_value(); }));
  EXPECT_EQ(eyes.ask(watcher::question{}).get(), errc::device_stopped);
}

TEST(Life, DeviceThatIsStoppedEndsForItsWatchersWithoutAnError) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  auto eyes = system.spawn<watcher>(gpu.actor());
  ASSERT_TRUE(gpu.wait_until_ready());
  gpu.stop();
  EXPECT_TRUE(eventually([&] { return eyes.ask(watcher::question{}).get().has_value(); }));
  EXPECT_EQ(eyes.ask(watcher::question{}).get(), errc{});
}

TEST(Life, StandbyThatDiesIsReplacedAndDisturbsNothing) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.wait_until_ready());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  const pid_t standby = gpu.health().standby_pid.value();
  ::kill(standby, SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const device_health now = gpu.health();
    return now.standby_ready && now.standby_pid != standby;
  }));
  EXPECT_EQ(gpu.generation(), 1u);
  EXPECT_TRUE(gpu.ask(lane::marker{}).get_result());
}

TEST(Life, StandbyThatDiesAgainAndAgainTakesNoRequestWithIt) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.wait_until_ready());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
    const pid_t standby = gpu.health().standby_pid.value();
    for (int request = 0; request < 8; ++request) {
      // Longer than anybody spins: the request has to wake the worker, and not the standby.
      std::this_thread::sleep_for(5ms);
      auto answer = gpu.ask(lane::marker{});
      ASSERT_TRUE(answer.wait_for(10s)) << "after " << i << " deaths";
    }
    ::kill(standby, SIGKILL);
    ASSERT_TRUE(eventually([&] { return gpu.health().standby_pid != standby; }));
  }
  EXPECT_EQ(gpu.generation(), 1u);
}

TEST(Life, WorkersDieWithTheProgram) {
  int report[2] = {-1, -1};
  ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
  const pid_t program = start_program("idle", report[1]);
  ::close(report[1]);
  pid_t workers[2] = {0, 0};
  ASSERT_EQ(::read(report[0], workers, sizeof(workers)), static_cast<ssize_t>(sizeof(workers)));
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  // Orphans are reaped by init; where nobody does that they stay as zombies, which run nothing.
  for (const pid_t worker : workers) {
    const std::string stat = "/proc/" + std::to_string(worker) + "/stat";
    EXPECT_TRUE(eventually(
        [&] {
          std::FILE* file = std::fopen(stat.c_str(), "r");
          if (file == nullptr) return true;
          char state = 0;
          const int read = std::fscanf(file, "%*d (%*[^)]) %c", &state);
          std::fclose(file);
          return read == 1 && (state == 'Z' || state == 'X');
        },
        2s));
  }
  ::close(report[0]);
}

TEST(Life, IdleDeviceUsesNoProcessor) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.ask(lane::marker{}).get_result());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  // Everything that spins for a while has stopped by then.
  std::this_thread::sleep_for(500ms);
  timespec before{};
  timespec after{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(1s);
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const auto spent = std::chrono::seconds(after.tv_sec - before.tv_sec) +
                     std::chrono::nanoseconds(after.tv_nsec - before.tv_nsec);
  EXPECT_LT(spent, 20ms);
}

TEST(Life, ThreadIsolationIsCondemnedByAHang) {
  // In a program of its own: the hung thread cannot be ended, only left.
  const pid_t program = start_program("condemned", -1);
  int status = -1;
  ::waitpid(program, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace troupe::test
