#pragma once

#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

#include <sys/types.h>

#include <string>
#include <thread>
#include <vector>

namespace troupe::os {

/// How a child ended.
struct exit_report {
  bool signalled = false;
  int code = 0;  ///< exit status, or the signal's number
  /// The exit status is lost: it was reaped elsewhere, or children are reaped automatically.
  bool unknown = false;
  bool forked_elsewhere = false;  ///< the process that forked it may know
};

/// Owns a child process and the process group that it leads: when this is destroyed, the whole
/// group is killed, and the child is reaped. Processes that the child starts are in its group,
/// unless they leave it by `setsid` or `setpgid`.
class child_process {
 public:
  child_process() = default;
  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();

  /// Starts `arguments[0]` with `inherited` as its descriptor 3, and nothing else except 0 to 2.
  /// \errors `system_error` of posix_spawn with the path.
  /// Its environment is this process's, or `environment` ("NAME=value").
  [[nodiscard]] static result<child_process> spawn(
      const std::vector<std::string>& arguments, const unique_fd& inherited,
      const std::vector<std::string>* environment = nullptr);
  /// Takes over a process that another one has forked, and that already leads its group. `parent`
  /// is a message socket to its parent: that reaps the process when it gets "reap", and answers
  /// "ended", 1 if by a signal, and the code.
  [[nodiscard]] static child_process forked(pid_t pid, unique_fd pidfd, unique_fd parent) noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// A descriptor that is readable once the process has ended.
  [[nodiscard]] int ending() const noexcept { return ending_.get(); }
  [[nodiscard]] bool running() const noexcept { return pid_ > 0; }
  /// Sends SIGKILL to it and its group; it is gone only once `reap` has returned.
  void kill() noexcept;
  /// Sends it a signal.
  void signal(int number) const noexcept;
  /// Waits for the end of the process, and kills the rest of its group. After this no store of the
  /// process can land any more.
  exit_report reap() noexcept;

 private:
  [[nodiscard]] result<void> watch_ending();
  exit_report reap_by_parent() noexcept;

  pid_t pid_ = -1;
  unique_fd ending_;     // a pidfd; if there are none, an event that `watcher_` signals
  std::thread watcher_;  // waits for the end, until `reap`
  unique_fd parent_;     // for a process that is not this one's child
};

}  // namespace troupe::os
