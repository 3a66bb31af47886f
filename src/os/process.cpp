#include "os/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

namespace troupe::os {
namespace {

constexpr int inherited_descriptor = 3;

}  // namespace

child_process::child_process(child_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

child_process& child_process::operator=(child_process&& other) noexcept {
  if (this != &other) {
    if (running()) {
      kill();
      reap();
    }
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

child_process::~child_process() {
  if (running()) {
    kill();
    reap();
  }
}

result<child_process> child_process::spawn(const std::vector<std::string>& arguments,
                                           const unique_fd& inherited) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  // dup2 onto the same number would keep the close-on-exec flag; every other descriptor of this
  // library is close-on-exec, so moving the source away from 3 is all there is to do.
  unique_fd source(::fcntl(inherited.get(), F_DUPFD_CLOEXEC, inherited_descriptor + 1));
  if (!source) return system_failure("fcntl(F_DUPFD_CLOEXEC)", errno);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, source.get(), inherited_descriptor);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, inherited_descriptor + 1);
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  child_process child;
  const int failed =
      ::posix_spawn(&child.pid_, argv[0], &actions, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    child.pid_ = -1;
    return system_failure("posix_spawn", failed, arguments[0]);
  }
  child.pidfd_ = unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
  if (!child.pidfd_) return system_failure("pidfd_open", errno, arguments[0]);
  return child;
}

void child_process::kill() noexcept {
  if (!running()) return;
  if (pidfd_) {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  } else {
    // There was no descriptor left for a pidfd. Until it is reaped the number is this child's.
    ::kill(pid_, SIGKILL);
  }
}

exit_report child_process::reap() noexcept {
  exit_report report;
  if (!running()) return report;
  siginfo_t info{};
  int outcome = 0;
  do {
    outcome = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
  } while (outcome != 0 && errno == EINTR);
  if (outcome == 0) {
    report.signalled = info.si_code != CLD_EXITED;
    report.code = info.si_status;
  } else {
    report.unknown = true;
  }
  pid_ = -1;
  pidfd_.reset();
  return report;
}

}  // namespace troupe::os
