// Telemetry while something else is wrong: no descriptors, forks, dead sockets, another time.

#include "telemetry/client.hpp"

#include <troupe/base/export.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/trace_file.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/telemetry/serve.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

namespace {
std::atomic<bool> clock_is_set_back{false};
}

// Takes the place of libc's, in this program and its libraries.
extern "C" TROUPE_EXPORT int clock_gettime(clockid_t which, timespec* now) noexcept {
  using function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int status = real(which, now);
  if (which == CLOCK_REALTIME && clock_is_set_back) now->tv_sec -= 3600;
  return status;
}

namespace troupe::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::size_t descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

std::chrono::nanoseconds processor_time() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
}

// A folder for sockets, and a device that has answered.
class Trouble : public ::testing::Test {
 protected:
  Trouble() {
    fs::create_directories(folder_);
    ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  ~Trouble() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(folder_);
  }
  [[nodiscard]] device make_device(troupe::system& of, device_config config = {}) {
    config.backend = backend_kind::cpu;
    device made = of.device(0, config);
    made.ask(lane::marker{}).get();
    return made;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("troupe-test-" + std::to_string(::getpid()));
};

TEST_F(Trouble, WaitsForDescriptorsWithoutSpinning) {
  troupe::system system;
  const device gpu = make_device(system);
  const auto shown = std::move(telemetry::serve(system)).value();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = descriptors() + 32;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<os::unique_fd> all;
  do
    all.emplace_back(::dup(0));
  while (all.back());
  all.resize(all.size() - 2);  // one for the client
  const os::unique_fd client = connect_to(shown.port());
  ASSERT_TRUE(client);
  ASSERT_TRUE(put(client, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const auto begin = processor_time();
  ::usleep(300'000);
  EXPECT_LT(processor_time() - begin, 150ms);
  gpu.ask(lane::marker{}).get();
  all.clear();
  EXPECT_EQ(split(take(client)).status, 200);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(Trouble, AForkedProcessLeavesTheServerAlone) {
  troupe::system system;
  const device gpu = make_device(system);
  auto shown = std::move(telemetry::serve(system)).value();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(5);
    shown.close();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(shown.socket_path()));
  EXPECT_EQ(ask(shown.port(), "/readyz").status, 200);
}

TEST_F(Trouble, NothingIsLeftOfTwoHundredSystems) {
  const auto make_one = [](bool is_asked) {
    troupe::system system;
    const auto shown = std::move(telemetry::serve(system)).value();
    if (is_asked) {
      EXPECT_EQ(ask(shown.port(), "/livez").status, 200);
    }
  };
  make_one(true);
  const std::size_t before = descriptors();
  for (int i = 0; i < 200; ++i)
    make_one(i % 50 == 0);
  EXPECT_EQ(descriptors(), before);
  EXPECT_TRUE(fs::is_empty(folder_ / "troupe"));
}

TEST_F(Trouble, ASocketOfADeadProgramIsRemoved) {
  fs::create_directory(folder_ / "troupe");
  fs::permissions(folder_ / "troupe", fs::perms::owner_all);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const fs::path dead = folder_ / "troupe" / "4194305.sock";  // more than there can be
  std::strcpy(at.sun_path, dead.c_str());
  {
    const os::unique_fd made(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(made.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    ASSERT_EQ(::listen(made.get(), 1), 0);
  }
  troupe::system system;
  const auto shown = std::move(telemetry::serve(system)).value();
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(shown.socket_path()));
}

TEST_F(Trouble, AFullDiskFailsNoRequest) {
  const fs::path path = folder_ / "trace.json";
  fs::create_symlink("/dev/full", path);
  troupe::system system;
  const auto trace = std::move(trace_file::open(path, 1 << 16)).value();
  const device gpu = make_device(system, {.tracer = trace});
  for (int i = 0; i < 2000; ++i)
    gpu.ask(lane::marker{}).get();
}

// A device that waits before its next start, and a clock that somebody sets back meanwhile.
TEST_F(Trouble, GraceEndsThoughTheClockIsSetBack) {
  troupe::system system;
  const device gpu = make_device(system, {.backoff = {.initial = 5s, .jitter = 0}});
  const auto shown = std::move(telemetry::serve(system, {.grace = 300ms})).value();
  EXPECT_EQ(ask(shown.port(), "/readyz").status, 200);
  // The second worker has answered nothing, so the third one has to wait.
  const auto first = gpu.worker_pid();
  ASSERT_EQ(::kill(first.value(), SIGKILL), 0);
  EXPECT_TRUE(soon([&] { return gpu.worker_pid() && gpu.worker_pid() != first; }));
  ASSERT_EQ(::kill(gpu.worker_pid().value(), SIGKILL), 0);
  EXPECT_TRUE(soon([&] { return gpu.health().state == device_state::recovering; }));
  clock_is_set_back = true;
  EXPECT_TRUE(soon([&] { return ask(shown.port(), "/readyz").status == 503; }));
  EXPECT_EQ(gpu.health().state, device_state::recovering);
  EXPECT_EQ(ask(shown.port(), "/top").body.find(" -"), std::string::npos);
  clock_is_set_back = false;
}

}  // namespace
}  // namespace troupe::test
