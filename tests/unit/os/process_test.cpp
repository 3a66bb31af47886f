#include "os/process.hpp"

#include "os/futex.hpp"
#include "os/message_socket.hpp"
#include "os/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// The process whose number a child has sent.
os::unique_fd named_by(const os::unique_fd& socket) {
  std::array<std::byte, 16> room{};
  const auto got = os::receive_message(socket, room, os::wait_mode::blocking).value();
  const std::string number(reinterpret_cast<const char*>(room.data()), got.bytes);
  return os::unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(number), 0)));
}

bool ends(const os::unique_fd& process) {
  pollfd entry{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 60'000) == 1;
}

os::child_process shell(const std::string& script, const os::unique_fd& inherited) {
  return os::child_process::spawn({"/bin/sh", "-c", script}, inherited).value();
}

TEST(ChildProcess, ReportsItsExitStatus) {
  const auto pair = os::message_socket_pair().value();
  os::child_process child = shell("exit 7", pair.second);
  const os::exit_report report = child.reap();
  EXPECT_FALSE(report.signalled);
  EXPECT_EQ(report.code, 7);
  EXPECT_FALSE(child.running());
}

TEST(ChildProcess, ItsPidfdIsReadableOnceItHasEnded) {
  const auto pair = os::message_socket_pair().value();
  os::child_process child = shell("kill -TERM $$", pair.second);
  pollfd entry{.fd = child.ending(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&entry, 1, 60'000), 1);
  const os::exit_report report = child.reap();
  EXPECT_TRUE(report.signalled);
  EXPECT_EQ(report.code, SIGTERM);
}

TEST(ChildProcess, IsKilledAndReapedWhenItGoesOutOfScope) {
  const auto pair = os::message_socket_pair().value();
  pid_t pid = -1;
  {
    const os::child_process child = shell("exec sleep 1000", pair.second);
    pid = child.pid();
    ASSERT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "it was not reaped";
}

TEST(ChildProcess, ADescendantOfAssignmentIsTheOnlyOne) {
  const auto pair = os::message_socket_pair().value();
  os::child_process child = shell("exec sleep 1000", pair.second);
  const pid_t first = child.pid();
  child = shell("exec sleep 1000", pair.second);
  EXPECT_EQ(::waitpid(first, nullptr, WNOHANG), -1);
  child.kill();
  EXPECT_EQ(child.reap().code, SIGKILL);
}

TEST(ChildProcess, IsKilledWithWhatItHasStarted) {
  const auto pair = os::message_socket_pair().value();
  os::child_process child = shell("sleep 1000 & echo $! >&3; wait", pair.second);
  const os::unique_fd started = named_by(pair.first);
  ASSERT_TRUE(started);
  child.kill();
  EXPECT_EQ(child.reap().code, SIGKILL);
  EXPECT_TRUE(ends(started));
}

TEST(ChildProcess, ThatEndsByItselfTakesWhatItHasStartedAlong) {
  const auto pair = os::message_socket_pair().value();
  os::child_process child = shell("sleep 1000 & echo $! >&3; exit 5", pair.second);
  const os::unique_fd started = named_by(pair.first);
  ASSERT_TRUE(started);
  EXPECT_EQ(child.reap().code, 5);
  EXPECT_TRUE(ends(started));
}

TEST(ChildProcess, SaysWhichFileIsNotThere) {
  const auto pair = os::message_socket_pair().value();
  auto child = os::child_process::spawn({"/nowhere/worker"}, pair.second);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().vendor_code, ENOENT);
  EXPECT_NE(child.error().message.find("/nowhere/worker"), std::string::npos);
}

TEST(ChildProcess, HasDescriptor3AndNoOtherOfOurs) {
  // One that is not close-on-exec, as programs have.
  const os::unique_fd leaky(::eventfd(0, 0));
  const auto pair = os::message_socket_pair().value();
  // The glob has one entry for each descriptor; the shell itself has none above 3 open then.
  os::child_process child = shell("set -- /proc/self/fd/*; echo hello >&3; exit $#", pair.second);
  std::array<std::byte, 16> room;
  EXPECT_EQ(os::receive_message(pair.first, room, os::wait_mode::blocking)->bytes, 6u);
  const int entries = child.reap().code;
  EXPECT_GE(entries, 4);
  EXPECT_LE(entries, 5) << "0 to 3, and the folder that the shell lists";
}

TEST(ChildProcess, WithoutADescriptorForItsPidfdItIsEndedNotWaitedFor) {
  const auto pair = os::message_socket_pair().value();
  // Room for one descriptor more: the copy that the child gets, but no pidfd.
  const os::unique_fd probe(::fcntl(pair.second.get(), F_DUPFD_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(probe.get()) + 1;
  const_cast<os::unique_fd&>(probe).reset();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  auto child = os::child_process::spawn({"/bin/sleep", "1000"}, pair.second);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().vendor_code, EMFILE);
  EXPECT_EQ(child.error().call, "pidfd_open");
}

TEST(Descriptor, IsInNoPlaceOfAStandardStream) {
  const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  ASSERT_GE(input, 3);
  ::close(STDIN_FILENO);
  const os::unique_fd made(::eventfd(0, EFD_CLOEXEC));
  const bool place_is_free = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
  ::dup2(input, STDIN_FILENO);
  ::close(input);
  EXPECT_GT(made.get(), STDERR_FILENO);
  EXPECT_NE(::fcntl(made.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_TRUE(place_is_free);
}

TEST(Futex, ReturnsAtOnceWhenTheWordHasChanged) {
  std::atomic<std::uint32_t> word{1};
  os::futex_wait(word, 0, std::chrono::steady_clock::time_point::max(), os::sharing::processes);
  SUCCEED();
}

TEST(Futex, ReturnsAtItsDeadline) {
  std::atomic<std::uint32_t> word{0};
  const auto deadline = std::chrono::steady_clock::now() + 20ms;
  while (std::chrono::steady_clock::now() < deadline)
    os::futex_wait(word, 0, deadline, os::sharing::program);
  os::futex_wait(word, 0, std::chrono::steady_clock::now() - 1s, os::sharing::program);
  SUCCEED();
}

TEST(Futex, WakesThroughAnotherMappingOfTheSameMemory) {
  const os::unique_fd memory = os::create_shared_memory("test", os::page_bytes()).value();
  const os::mapping one = os::map(memory, os::page_bytes(), os::protection::read_write).value();
  const os::mapping two = os::map(memory, os::page_bytes(), os::protection::read_write).value();
  auto& here = *::new (one.address()) std::atomic<std::uint32_t>(0);
  auto& there = *reinterpret_cast<std::atomic<std::uint32_t>*>(two.address());
  std::jthread waker([&] {
    there.store(1, std::memory_order_release);
    os::futex_wake(there, 1, os::sharing::processes);
  });
  while (here.load(std::memory_order_acquire) == 0)
    os::futex_wait(here, 0, std::chrono::steady_clock::time_point::max(), os::sharing::processes);
  SUCCEED();
}

}  // namespace
}  // namespace troupe
