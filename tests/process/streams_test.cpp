// Programs without standard streams: daemons close them, and some open others later.

#include "operations.hpp"

#include <troupe/lane/marker.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>

namespace troupe::test {
namespace {

constexpr int places[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};

bool has_places_to_itself(pid_t worker) {
  for (const int place : places) {
    std::error_code none;
    const auto what = std::filesystem::read_symlink(
        "/proc/" + std::to_string(worker) + "/fd/" + std::to_string(place), none);
    if (what != "/dev/null") return false;
  }
  return true;
}

[[noreturn]] void run_without_streams() {
  ::alarm(60);
  for (const int place : places)
    ::close(place);
  troupe::system system;
  device gpu = system.device(0, with_operations());
  if (!gpu.wait_until_ready()) ::_exit(1);
  if (!eventually([&] { return gpu.health().standby_ready; })) ::_exit(2);
  if (!has_places_to_itself(gpu.worker_pid().value())) ::_exit(3);
  // A standby's descriptors are created in one of these places, and leave it at once.
  for (const int place : places)
    if (::fcntl(place, F_GETFD) >= 0) ::_exit(4);
  // Opening the streams now closes no descriptor of ours.
  const int nowhere = ::open("/dev/null", O_RDWR);  // NOLINT(android-cloexec-open)
  for (const int place : places)
    if (place != nowhere) ::dup2(nowhere, place);
  if (!gpu.ask(lane::marker{}).get_result()) ::_exit(5);
  if (gpu.generation() != 1) ::_exit(6);
  ::kill(gpu.worker_pid().value(), SIGKILL);
  if (!eventually([&] { return gpu.generation() == 2; })) ::_exit(7);
  if (!gpu.ask(lane::marker{}).get_result()) ::_exit(8);
  ::_exit(0);
}

TEST(StandardStreams, ThatAProgramHasClosedAreNoPlaceForAnythingOfOurs) {
  EXPECT_EXIT(run_without_streams(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace troupe::test
