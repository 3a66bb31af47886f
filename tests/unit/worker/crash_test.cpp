#include "worker/process/crash.hpp"

#include "os/shared_memory.hpp"
#include "under_sanitizers.hpp"

#include <troupe/plugin/work_owner.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace troupe::worker {
namespace {

// Whichever comes first, its report is whole: the other one does not end the process before.
TEST(Crash, OfTwoThreadsAtOnceLeavesTheReportOfOne) {
  if (test::under_sanitizers) GTEST_SKIP() << "they handle SIGSEGV themselves";
  constexpr std::size_t bytes = sizeof(wire::crash_report);
  const auto memory = os::create_shared_memory("crash-test", bytes).value();
  const auto pages = os::map(memory, bytes, os::protection::read_write).value();
  for (int i = 0; i < 60; ++i) {
    auto* const report = ::new (pages.address()) wire::crash_report();
    const pid_t child = ::fork();
    if (child == 0) {
      crash::install(*report);
      std::atomic<int> there{0};
      const auto crash = [&](std::uint64_t ticket) {
        const works_for owner({.ticket = ticket, .known = true});
        ++there;
        while (there < 2) {
        }
        ::raise(SIGSEGV);
      };
      std::thread other(crash, 1);
      crash(2);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_EQ(WTERMSIG(status), SIGSEGV);
    ASSERT_EQ(report->signal, static_cast<std::uint32_t>(SIGSEGV)) << i;
    ASSERT_EQ(report->has_ticket, 1u);
    ASSERT_TRUE(report->ticket == 1 || report->ticket == 2);
  }
}

}  // namespace
}  // namespace troupe::worker
