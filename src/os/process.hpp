#pragma once

#include "os/unique_fd.hpp"

#include <troupe/core/result.hpp>

#include <sys/types.h>

#include <string>
#include <vector>

namespace troupe::os {

/// How a child ended.
struct exit_report {
  bool signalled = false;
  int code = 0;  ///< exit status, or the signal's number
  /// Nobody knows: somebody else has reaped it, or children are reaped by nobody.
  bool unknown = false;
};

/// Owns a child process: killed and reaped when it goes out of scope.
class child_process {
 public:
  child_process() = default;
  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process();

  /// Starts `arguments[0]` with `inherited` as its descriptor 3, and nothing else but 0 to 2.
  /// \errors `system_error` of posix_spawn with the path.
  [[nodiscard]] static result<child_process> spawn(const std::vector<std::string>& arguments,
                                                   const unique_fd& inherited);

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Readable once the process has ended.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  [[nodiscard]] bool running() const noexcept { return pid_ > 0; }
  /// Sends SIGKILL; it is gone only once `reap` has returned.
  void kill() noexcept;
  /// Waits for the end. After it no store of the process can land any more.
  exit_report reap() noexcept;

 private:
  pid_t pid_ = -1;
  unique_fd pidfd_;
};

}  // namespace troupe::os
