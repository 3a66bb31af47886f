// The use that a device makes of the machine, and what it leaves behind.

#include "device/fixtures/operations.hpp"
#include "device/fixtures/programs.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

TEST(Life, WorkersDieWithTheProgram) {
  int report[2] = {-1, -1};
  ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
  const pid_t program = start_program("idle", report[1]);
  ::close(report[1]);
  pid_t workers[2] = {0, 0};
  ASSERT_EQ(::read(report[0], workers, sizeof(workers)), static_cast<ssize_t>(sizeof(workers)));
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  // init reaps orphans; without it they stay as zombies, which run nothing.
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

// The processor time of all threads of a process, so far.
std::chrono::nanoseconds processor_time(pid_t process) {
  clockid_t clock{};
  timespec spent{};
  EXPECT_EQ(::clock_getcpuclockid(process, &clock), 0);
  EXPECT_EQ(::clock_gettime(clock, &spent), 0);
  return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
}

TEST(Life, IdleDeviceUsesNoProcessor) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.ask(lane::marker{}).get_result());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  const pid_t processes[] = {::getpid(), gpu.worker_pid().value(),
                             gpu.health().standby_pid.value()};
  // Everything that spins for a while has stopped by then.
  std::this_thread::sleep_for(500ms);
  std::chrono::nanoseconds before[3];
  for (std::size_t i = 0; i < 3; ++i)
    before[i] = processor_time(processes[i]);
  std::this_thread::sleep_for(1s);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_LT(processor_time(processes[i]) - before[i], 20ms) << (i == 0   ? "program"
                                                                  : i == 1 ? "worker"
                                                                           : "standby");
  }
}

TEST(Life, DeviceThatHasGivenUpUsesNoProcessor) {
  troupe::system system;
  device_config config = permissive();
  config.restarts.restarts = 0;
  config.silence_timeout = 100ms;
  device gpu = system.device(0, config);
  ASSERT_TRUE(gpu.wait_until_ready());
  shared_flag flag(gpu);
  auto held = gpu.ask(hold{.flag = flag.tensor()}, {.deadline = 1s});
  freeze_worker(gpu);
  ASSERT_FALSE(held.get_result());
  // Beyond the deadline, which is not awaited any more.
  std::this_thread::sleep_for(1s);
  const auto before = processor_time(::getpid());
  std::this_thread::sleep_for(1s);
  EXPECT_LT(processor_time(::getpid()) - before, 20ms);
}

// How many of something the program has, as its folder in /proc counts it.
std::ptrdiff_t entries_of(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

// Children of this process that have ended and were not reaped.
bool has_zombies() {
  siginfo_t ended{};
  return ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0;
}

TEST(Life, FiftyRestartsLeaveNothingBehind) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  auto kept = gpu.tensor<float>({1000}, initial::zero).value();
  const auto restart = [&] {
    ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
    const std::uint64_t before = gpu.generation();
    // Buffers lost with it use memory, too.
    auto passing = gpu.tensor<float>({1000}).value();
    auto lost = gpu.ask(fault::inject{
        .what = fault::kind::exit,
        .output = passing,
        .duration_ns = static_cast<std::int64_t>(before)});  // another request each time
    EXPECT_EQ(lost.get_result().error().code, errc::device_fault);
    ASSERT_TRUE(eventually([&] { return gpu.generation() > before; }));
    EXPECT_TRUE(gpu.ask(lane::marker{}).get_result());
  };
  struct footprint {
    std::ptrdiff_t descriptors = 0;
    std::ptrdiff_t threads = 0;
    std::uint64_t buffers = 0;
    std::uint64_t memory = 0;
    bool zombies = false;
    bool operator==(const footprint&) const = default;
  };
  const auto now = [&] {
    EXPECT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
    const device_statistics counts = gpu.statistics();
    return footprint{entries_of("/proc/self/fd"), entries_of("/proc/self/task"), counts.buffers,
                     counts.memory_used_bytes, has_zombies()};
  };
  ASSERT_NO_FATAL_FAILURE(restart());
  // A request's buffer is given back a moment after its answer.
  ASSERT_TRUE(eventually([&] { return gpu.statistics().buffers == 1; }));
  const footprint before = now();
  for (int i = 0; i < 50; ++i)
    ASSERT_NO_FATAL_FAILURE(restart());
  EXPECT_TRUE(eventually([&] { return now() == before; }))
      << entries_of("/proc/self/fd") << " descriptors, " << before.descriptors << " before; "
      << entries_of("/proc/self/task") << " threads, " << before.threads << " before; "
      << gpu.statistics().buffers << " buffers, " << before.buffers << " before";
  EXPECT_FALSE(before.zombies);
  EXPECT_EQ(gpu.health().restarts, 51u);
}

TEST(Life, DevicesThatFollowEachOtherLeaveNothingBehind) {
  // The allocator maps an arena for a thread where it finds none that is free, up to eight for each
  // processor.
  ::mallopt(M_ARENA_MAX, 1);
  troupe::system system;
  device_config config = permissive();
  config.standby = false;
  const auto one = [&] {
    device gpu = system.device(0, config);
    const auto t = gpu.tensor<float>({1 << 20}, initial::zero).value();
    EXPECT_EQ(gpu.ask(sum{.input = t}).get(), 0.0);
    gpu.stop();
  };
  const auto mappings = [] {
    std::ifstream file("/proc/self/maps");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    return lines;
  };
  for (int i = 0; i < 3; ++i)
    one();
  const auto descriptors = entries_of("/proc/self/fd");
  const auto threads = entries_of("/proc/self/task");
  const auto mapped = mappings();
  for (int i = 0; i < 20; ++i)
    one();
  EXPECT_TRUE(eventually([&] { return entries_of("/proc/self/fd") <= descriptors; }))
      << entries_of("/proc/self/fd") << " descriptors, " << descriptors << " before";
  EXPECT_TRUE(eventually([&] { return entries_of("/proc/self/task") <= threads; }))
      << entries_of("/proc/self/task") << " threads, " << threads << " before";
  // Allocators map now and then, but not for each.
  const auto left = mappings();
  std::string more;
  for (const std::string& line : left)
    if (std::ranges::find(mapped, line) == mapped.end()) more += line + '\n';
  EXPECT_LT(left.size(), mapped.size() + 20) << more;
}

}  // namespace
}  // namespace troupe::test
