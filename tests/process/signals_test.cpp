// A program's use of signals is its own, whatever threads Troupe has in it.

#include "operations.hpp"
#include "under_sanitizers.hpp"

#include <troupe/core/actor.hpp>
#include <troupe/core/system.hpp>
#include <troupe/jit/compiler.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace troupe::test {
namespace {

class pinned_actor final : public actor {
 public:
  int handle(int number) { return number; }
};

// The numbers of signals that a thread of this process blocks: a bit each, the first is 1.
std::uint64_t blocked_by(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  std::uint64_t blocked = 0;
  for (std::string word; status >> word;) {
    if (word == "SigBlk:") status >> std::hex >> blocked;
  }
  return blocked;
}

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }

bool blocks_what_is_not_its_own(const std::filesystem::path& thread) {
  const std::uint64_t blocked = blocked_by(thread);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,
                           SIGCHLD, SIGPROF, SIGWINCH, SIGIO, SIGRTMIN, SIGRTMAX}) {
    if ((blocked & bit_of(signal)) == 0) {
      std::fprintf(stderr, "%s does not block %d\n", thread.c_str(), signal);
      return false;
    }
  }
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    if ((blocked & bit_of(own)) != 0) {
      std::fprintf(stderr, "%s blocks %d\n", thread.c_str(), own);
      return false;
    }
  }
  return true;
}

// A program that reads SIGTERM from a descriptor, and has made a system before it blocks it.
[[noreturn]] void read_signals() {
  ::alarm(60);
  {
    troupe::system system;
    device in_processes = system.device(0, with_operations());
    device_config config = with_operations();
    config.isolation = isolation::thread;
    device in_threads = system.device(1, config);
    in_processes.ask(lane::marker{}).get();
    in_threads.ask(lane::marker{}).get();
    auto pinned = system.spawn<pinned_actor>({.run_by = dispatcher::pinned});
    if (pinned.ask(7).get() != 7) ::_exit(1);
    jit::compiler compiler({.compiler_path = "/nowhere"});
    (void)compiler.compile({.text = "", .architecture = "sm_90"}).get_result();

    sigset_t term;
    ::sigemptyset(&term);
    ::sigaddset(&term, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &term, nullptr);
    const int reader = ::signalfd(-1, &term, SFD_CLOEXEC);
    ::kill(::getpid(), SIGTERM);
    signalfd_siginfo heard{};
    if (::read(reader, &heard, sizeof(heard)) != sizeof(heard)) ::_exit(2);
    if (heard.ssi_signo != SIGTERM) ::_exit(3);

    int threads = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      if (thread.path().filename() == std::to_string(::getpid())) continue;
      ++threads;
      if (!blocks_what_is_not_its_own(thread.path())) ::_exit(4);
    }
    // Timers, pool, both devices, the lanes in threads, the pinned actor, the compiler.
    if (threads < 8) ::_exit(5);
  }
  ::_exit(0);
}

TEST(Signals, OfAProgramAreDeliveredToNoThreadOfOurs) {
  if (under_sanitizers) GTEST_SKIP() << "the sanitizer has a thread of its own";
  EXPECT_EXIT(read_signals(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace troupe::test
