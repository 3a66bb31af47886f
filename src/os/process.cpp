#include "os/process.hpp"

#include "os/event.hpp"
#include "os/message_socket.hpp"
#include "os/refused_call.hpp"
#include "os/thread.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string_view>
#include <system_error>

namespace troupe::os {
namespace {

constexpr int inherited_descriptor = 3;

// Waits until it has ended. Without WNOWAIT that reaps it.
int wait_for(pid_t pid, siginfo_t& info, int how) noexcept {
  int outcome = 0;
  do {
    outcome = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | how);
  } while (outcome != 0 && errno == EINTR);
  return outcome;
}

// 0, or the code of the failure; also for a descriptor that is no pidfd.
int kill_by_pidfd(const unique_fd& pidfd, unsigned whom) noexcept {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, whom) == 0 ? 0 : errno;
}
// In the form for `exec`.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

constexpr unsigned the_process = 0;
constexpr unsigned its_group = 1U << 2;  // PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9

}  // namespace

child_process::child_process(child_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ending_(std::move(other.ending_)),
      watcher_(std::move(other.watcher_)),
      parent_(std::move(other.parent_)) {}

child_process& child_process::operator=(child_process&& other) noexcept {
  if (this != &other) {
    if (running()) {
      kill();
      reap();
    }
    pid_ = std::exchange(other.pid_, -1);
    ending_ = std::move(other.ending_);
    watcher_ = std::move(other.watcher_);
    parent_ = std::move(other.parent_);
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
                                           const unique_fd& inherited,
                                           const std::vector<std::string>* environment) {
  const std::vector<char*> argv = pointers_to(arguments);
  std::vector<char*> variables;
  if (environment != nullptr) variables = pointers_to(*environment);

  // dup2 onto the same number would keep the close-on-exec flag; every other descriptor of this
  // library is close-on-exec, so it suffices to move the source away from 3.
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
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  child_process child;
  const int failed = ::posix_spawn(&child.pid_, argv[0], &actions, &attributes, argv.data(),
                                   environment != nullptr ? variables.data() : environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    child.pid_ = -1;
    return system_failure("posix_spawn", failed, arguments[0]);
  }
  child.ending_ = unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
  if (!child.ending_) {
    // A process that has already ended may have been reaped, if this program ignores SIGCHLD.
    if (!call_is_refused(errno) && errno != ESRCH)
      return system_failure("pidfd_open", errno, arguments[0]);
    if (auto watched = child.watch_ending(); !watched) return std::move(watched).error();
  }
  return child;
}

child_process child_process::forked(pid_t pid, unique_fd pidfd, unique_fd parent) noexcept {
  child_process child;
  child.pid_ = pid;
  child.ending_ = std::move(pidfd);
  child.parent_ = std::move(parent);
  return child;
}

void child_process::signal(int number) const noexcept {
  if (!running()) return;
  const long sent = ::syscall(SYS_pidfd_send_signal, ending_.get(), number, nullptr, 0u);
  // Without pidfds.
  if (sent != 0 && errno != ESRCH) ::kill(pid_, number);
}

result<void> child_process::watch_ending() {
  auto event = create_event();
  if (!event) return std::move(event).error();
  ending_ = *std::move(event);
  try {
    watcher_ = start_thread([pid = pid_, ended = ending_.get()] {
      siginfo_t info{};
      (void)wait_for(pid, info, WNOWAIT);
      ::eventfd_write(ended, 1);
    });
  } catch (const std::system_error& none) {
    return system_failure("pthread_create", none.code().value());
  }
  return {};
}

void child_process::kill() noexcept {
  if (!running()) return;
  if (kill_by_pidfd(ending_, the_process) == ESRCH) {
    // Another thread has reaped it, so its number may be another process's by now.
    kill_by_pidfd(ending_, its_group);
    return;
  }
  // Until it is reaped both numbers belong to this child.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // for a child that has left its group, or has no pidfd
}

// Asks its parent, which answers: "ended", whether by a signal, the code.
exit_report child_process::reap_by_parent() noexcept {
  constexpr int longest_ms = 2000;  // a silent parent has ended, or is stopped
  pollfd end{.fd = ending_.get(), .events = POLLIN, .revents = 0};
  while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
  kill();
  exit_report report{.unknown = true, .forked_elsewhere = true};
  constexpr std::string_view question = "reap";
  pollfd answer{.fd = parent_.get(), .events = POLLIN, .revents = 0};
  if (!send_message(parent_, std::as_bytes(std::span(question)))) return report;
  char text[8192];
  while (::poll(&answer, 1, longest_ms) == 1) {
    const ssize_t got = ::recv(parent_.get(), text, sizeof(text), MSG_DONTWAIT);
    if (got <= 0) break;
    const std::string_view message(text, static_cast<std::size_t>(got));
    constexpr std::string_view kind = "ended ";
    if (!message.starts_with(kind) || message.size() < kind.size() + 3) continue;
    int code = 0;
    const char* const from = message.data() + kind.size() + 2;
    if (std::from_chars(from, message.data() + message.size(), code).ec != std::errc()) break;
    return {.signalled = message[kind.size()] == '1', .code = code, .forked_elsewhere = true};
  }
  return report;
}

exit_report child_process::reap() noexcept {
  exit_report report;
  if (!running()) return report;
  if (parent_) {
    report = reap_by_parent();
    pid_ = -1;
    ending_.reset();
    parent_.reset();
    return report;
  }
  siginfo_t info{};
  report.unknown = wait_for(pid_, info, WNOWAIT) != 0;
  // If another thread has reaped it, only a pidfd distinguishes it from another process of the same
  // number.
  if (!report.unknown || !watcher_.joinable()) kill();
  if (watcher_.joinable()) watcher_.join();
  if (!report.unknown && wait_for(pid_, info, 0) == 0) {
    report.signalled = info.si_code != CLD_EXITED;
    report.code = info.si_status;
  } else {
    report.unknown = true;
  }
  pid_ = -1;
  ending_.reset();
  return report;
}

}  // namespace troupe::os
