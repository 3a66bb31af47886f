// A device in programs that treat it, or themselves, in odd ways.

#include "device/fixtures/either_isolation.hpp"
#include "device/fixtures/programs.hpp"
#include "under_sanitizers.hpp"
#include "unit/core/no_more_threads.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/launch.hpp>
#include <troupe/lane/marker.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class LifeOfASystem : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(EndsIn, LifeOfASystem,
                         ::testing::Values("ends_in_device_continuation", "ends_in_handler",
                                           "ends_in_pinned_handler", "ends_in_helped_handler",
                                           "ends_in_actor_continuation", "ends_by_exit"));

TEST_P(LifeOfASystem, EndsWhereItIsDestroyedInOneOfItsOwnThreads) {
  const pid_t program = start_program(GetParam(), -1);
  int status = -1;
  const bool has_ended =
      eventually([&] { return ::waitpid(program, &status, WNOHANG) == program; }, 60s);
  if (!has_ended) ::kill(program, SIGKILL);
  ASSERT_TRUE(has_ended) << "it hangs";
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see the program of this name";
}

TEST(Life, AFreezeDoesNotWaitForAStandbyThatStandsStill) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  auto t = gpu.tensor<float>({freezable}, initial::zero, placement::own).value();
  const pid_t standby = gpu.health().standby_pid.value();
  ASSERT_EQ(::kill(standby, SIGSTOP), 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(gpu.freeze(t).wait_for(10s));
    ASSERT_TRUE(gpu.thaw(t).wait_for(10s));
  }
  gpu.freeze(t).get();
  // It has not said that it has the tensor read-only, so another one takes over.
  kill_worker(gpu);
  ASSERT_TRUE(gpu.ask(lane::marker{}).wait_for(10s));
  EXPECT_NE(gpu.worker_pid(), standby);
}

TEST(Life, NamesOfLibrariesTakeNoMemoryForGood) {
  troupe::system system;
  device_config config = permissive();
  config.lanes = lane_policy::pool(2);
  device gpu = system.device(0, config);
  const auto many = [&](int from, int to) {
    for (int i = from; i < to; ++i)
      (void)gpu.library("a library that nobody has, and whose name is long: " + std::to_string(i));
  };
  many(0, 20'000);  // the heap has grown by now
  const std::size_t before = ::mallinfo2().uordblks;
  many(20'000, 40'000);
  EXPECT_LT(::mallinfo2().uordblks, before + (std::size_t{1} << 20));
  EXPECT_TRUE(gpu.library("test").ask(lane::marker{}).get_result());
}

TEST(Life, RelativePathsBeginWhereTheProgramIsWhenItMakesTheDevice) {
  const std::filesystem::path home = std::filesystem::current_path();
  const auto in_this_folder = [&](const char* link) {
    return std::filesystem::read_symlink(link).lexically_relative(home).string();
  };
  troupe::system system;
  device_config config = permissive();
  config.standby = false;
  config.worker_path = in_this_folder("/proc/self/exe");
  device gpu = system.device(0, config);
  ASSERT_TRUE(gpu.wait_until_ready());
  std::filesystem::current_path("/");
  kill_worker(gpu);
  const auto outcome = gpu.ask(lane::marker{}).get_result();
  std::filesystem::current_path(home);
  EXPECT_TRUE(outcome) << outcome.error().to_string();
}

TEST(Life, ADeviceWhoseThreadsCannotBeStartedIsRefused) {
  if (under_sanitizers) GTEST_SKIP() << "they start threads their own way";
  troupe::system system;
  {
    const no_thread_starts now;
    EXPECT_EQ(refused(system, 0, permissive()), errc::system_error);
  }
  EXPECT_TRUE(system.device(0, permissive()).wait_until_ready());
}

TEST(Life, ThreadIsolationIsCondemnedByAHang) {
  // In a program of its own: the hung thread cannot be ended, only left.
  const pid_t program = start_program("condemned", -1);
  int status = -1;
  ::waitpid(program, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Life, AThreadOfACondemnedDeviceDisturbsNobodyWhenItGoesOn) {
  const pid_t program = start_program("after_condemnation", -1);
  int status = -1;
  ::waitpid(program, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see the program of this name";
}

}  // namespace
}  // namespace troupe::test
