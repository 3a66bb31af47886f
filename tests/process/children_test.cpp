// Processes that an operation starts.

#include "operations.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <optional>

namespace troupe::test {
namespace {

class ChildOfAWorker : public testing::Test {
 protected:
  [[nodiscard]] int start_one_that_stays() {
    const auto pid = gpu_->ask(fork_child{.what = deed::stays}).get();
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  }
  static bool ends(int pidfd) {
    pollfd entry{.fd = pidfd, .events = POLLIN, .revents = 0};
    const bool ended = ::poll(&entry, 1, 20'000) == 1;
    ::close(pidfd);
    return ended;
  }
  [[nodiscard]] std::int64_t status_of(const std::string& command) {
    return gpu_->ask(run_command{.command = command}).get();
  }

  troupe::system system_;
  std::optional<device> gpu_ = system_.device(0, with_operations());
};

TEST_F(ChildOfAWorker, HasNoMemoryOfTheDevice) {
  const auto tensor = gpu_->tensor<float>({1024}, initial::zero).value();
  const auto host = gpu_->host_tensor<float>({1024}).value();
  EXPECT_EQ(gpu_->ask(fork_child{.what = deed::counts_mappings}).get(), 0);
}

TEST_F(ChildOfAWorker, InheritsNoDescriptorOfItsWorker) {
  EXPECT_EQ(status_of("ls -l /proc/$$/fd | grep -q 'socket:\\|memfd:\\|eventfd'"), 1);
}

// But for the two by which a terminal stops what is in its background, and two of the C library's
// own that it leaves ignored in whatever it spawns.
TEST_F(ChildOfAWorker, IgnoresAndBlocksNoSignal) {
  EXPECT_EQ(status_of("grep -q 'SigIgn:.0000000[01][08]0300000' /proc/self/status"), 0);
  EXPECT_EQ(status_of("grep -q 'SigBlk:.0000000000000000' /proc/self/status"), 0);
}

TEST_F(ChildOfAWorker, ThatCrashesEndsBySignalAndReportsNothing) {
  EXPECT_EQ(gpu_->ask(fork_child{.what = deed::aborts}).get(), SIGABRT);
  EXPECT_EQ(gpu_->generation(), 1u);
}

TEST_F(ChildOfAWorker, EndsWithAWorkerThatIsLost) {
  const int child = start_one_that_stays();
  ASSERT_GE(child, 0);
  ::kill(gpu_->worker_pid().value(), SIGKILL);
  EXPECT_TRUE(ends(child));
}

TEST_F(ChildOfAWorker, EndsWithItsDevice) {
  const int child = start_one_that_stays();
  ASSERT_GE(child, 0);
  gpu_->stop();
  EXPECT_TRUE(ends(child));
}

}  // namespace
}  // namespace troupe::test
